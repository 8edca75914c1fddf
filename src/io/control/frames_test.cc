#include "io/control/frames.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

namespace tiphys::control {
namespace {

using Found = FrameReader::Found;

std::string bytes_of(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

// [utest->swdd~agent-uses-length-delimited-protobuf-for-pipes~1]
TEST(Frames, TheLengthStandsBeforeTheMessage) {
  EXPECT_EQ(to_frame(""), bytes_of({0}));
  EXPECT_EQ(to_frame("abc"), "\3abc");
  EXPECT_EQ(to_frame(std::string(127, 'x')).substr(0, 1), bytes_of({127}));
  EXPECT_EQ(to_frame(std::string(128, 'x')).substr(0, 2), bytes_of({0x80, 1}));
  EXPECT_EQ(to_frame(std::string(300, 'x')).substr(0, 2), bytes_of({0xac, 2}));
}

TEST(Frames, AreReadHoweverTheyArrive) {
  rc::check([](std::vector<std::string> messages, const std::vector<std::uint8_t>& cuts) {
    messages.emplace_back(1000, 'x');
    std::string stream;
    for (const auto& message : messages) stream += to_frame(message);
    FrameReader reader;
    std::vector<std::string> read;
    std::string_view rest = stream;
    for (std::size_t i = 0; !rest.empty(); ++i) {
      const std::size_t size = cuts.empty() ? rest.size() : 1U + cuts[i % cuts.size()];
      std::string_view part = rest.substr(0, size);
      rest.remove_prefix(part.size());
      while (!part.empty())
        if (reader.push(part) == Found::kMessage) read.push_back(reader.take());
    }
    RC_ASSERT(read == messages);
  });
}

TEST(Frames, TakesOneMessageAtATime) {
  FrameReader reader;
  const std::string stream = "\1a\2bcd";
  std::string_view bytes = stream;
  EXPECT_EQ(reader.push(bytes), Found::kMessage);
  EXPECT_EQ(bytes, "\2bcd");
  EXPECT_EQ(reader.take(), "a");
}

TEST(Frames, AnEmptyMessageIsOne) {
  FrameReader reader;
  const std::string stream = bytes_of({0});
  std::string_view bytes = stream;
  EXPECT_EQ(reader.push(bytes), Found::kMessage);
  EXPECT_EQ(reader.take(), "");
}

TEST(Frames, ALengthMayBeLongerThanItNeedsToBe) {
  for (const std::string& length :
       {bytes_of({0x83, 0x80, 0}), bytes_of({0x83}) + std::string(17, '\x80') + bytes_of({0})}) {
    FrameReader reader;
    const std::string stream = length + "abc";
    std::string_view bytes = stream;
    EXPECT_EQ(reader.push(bytes), Found::kMessage) << length.size();
    EXPECT_EQ(reader.take(), "abc");
  }
}

TEST(Frames, ALengthOfNineteenBytesThatGoesOnIsNone) {
  FrameReader reader;
  const std::string stream = std::string(19, '\xff') + "\1a";
  std::string_view bytes = stream;
  EXPECT_EQ(reader.push(bytes), Found::kOverlong);
  EXPECT_EQ(bytes, "\1a");
  EXPECT_EQ(reader.push(bytes), Found::kMessage);
  EXPECT_EQ(reader.take(), "a");
}

TEST(Frames, AMessageOverTheLimitIsRefusedBeforeItComes) {
  FrameReader reader(4);
  std::string stream = "\4abcd";
  std::string_view bytes = stream;
  EXPECT_EQ(reader.push(bytes), Found::kMessage);
  EXPECT_EQ(reader.take(), "abcd");
  stream = "\5";
  bytes = stream;
  EXPECT_EQ(reader.push(bytes), Found::kTooLong);
}

TEST(Frames, ALengthBeyondAllNumbersIsRefused) {
  for (const std::string& stream :
       {std::string(9, '\xff') + bytes_of({2}), std::string(10, '\x80') + bytes_of({1}),
        std::string(9, '\xff') + bytes_of({1})}) {
    FrameReader reader;
    std::string_view bytes = stream;
    EXPECT_EQ(reader.push(bytes), Found::kTooLong);
  }
}

TEST(Frames, ACutOffMessageCanBeForgotten) {
  for (const std::string& begin : {std::string("\x83"), std::string("\3ab")}) {
    FrameReader reader;
    std::string_view bytes = begin;
    EXPECT_EQ(reader.push(bytes), Found::kNothing);
    reader.reset();
    const std::string next = "\1x";
    bytes = next;
    EXPECT_EQ(reader.push(bytes), Found::kMessage);
    EXPECT_EQ(reader.take(), "x");
  }
}

}  // namespace
}  // namespace tiphys::control
