#include "io/rpc/message_reader.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <rapidcheck.h>
#include <zlib.h>

#include <vector>

namespace tiphys::rpc {
namespace {

constexpr std::size_t kLimit = 1000;

std::string frame(std::string_view body, char flag = 0) {
  std::string bytes(MessageHead(body.size()).bytes());
  bytes[0] = flag;
  return bytes.append(body);
}

std::string gzip(const std::string& plain) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string compressed(plain.size() + 200, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  compressed.resize(compressed.size() - stream.avail_out);
  deflateEnd(&stream);
  return compressed;
}

class Reading : public ::testing::Test {
 protected:
  std::shared_ptr<ReceiveBudget> budget_ = std::make_shared<ReceiveBudget>(5000);
  MessageReader reader_{kLimit, budget_};

  Code refused(std::string_view bytes) {
    const auto taken = reader_.push(bytes);
    EXPECT_FALSE(taken);
    return taken ? Code::kUnknown : taken.error().code;
  }
};

TEST_F(Reading, StopsAtTheEndOfAMessage) {
  const std::string bytes = frame("one") + frame("two");
  EXPECT_EQ(reader_.push(bytes), 8U);
  ASSERT_TRUE(reader_.has_message());
  EXPECT_EQ(reader_.take(), "one");
  EXPECT_FALSE(reader_.has_message());
  EXPECT_FALSE(reader_.is_inside_message());
  EXPECT_EQ(reader_.push(std::string_view(bytes).substr(8)), 8U);
  EXPECT_EQ(reader_.take(), "two");
}

TEST_F(Reading, TakesAMessageOfNothing) {
  EXPECT_EQ(reader_.push(frame("")), 5U);
  ASSERT_TRUE(reader_.has_message());
  EXPECT_EQ(reader_.take(), "");
}

TEST_F(Reading, PutsMessagesTogetherHoweverTheyAreCut) {
  EXPECT_TRUE(
      rc::check([](const std::vector<std::string>& bodies, const std::vector<std::uint8_t>& cuts) {
        MessageReader reader(1'000'000, std::make_shared<ReceiveBudget>());
        std::string bytes;
        for (const std::string& body : bodies) bytes += frame(body);
        std::vector<std::string> read;
        std::size_t cut = 0;
        for (std::string_view rest = bytes; !rest.empty();) {
          const std::size_t size = cuts.empty() ? 1 : cuts[cut++ % cuts.size()] + 1U;
          const std::string_view chunk = rest.substr(0, size);
          const auto taken = reader.push(chunk);
          RC_ASSERT(taken.has_value());
          rest.remove_prefix(*taken);
          if (reader.has_message()) read.push_back(reader.take());
        }
        RC_ASSERT(read == bodies);
        RC_ASSERT(!reader.is_inside_message());
      }));
}

TEST_F(Reading, KnowsWhetherItIsInsideAMessage) {
  EXPECT_FALSE(reader_.is_inside_message());
  EXPECT_EQ(reader_.push(std::string_view("\0\0", 2)), 2U);
  EXPECT_TRUE(reader_.is_inside_message());
}

TEST_F(Reading, RefusesAnAnnouncedSizeBeyondTheLimitBeforeAnythingArrives) {
  EXPECT_EQ(refused(std::string_view("\0\xff\xff\xff\xff", 5)), Code::kResourceExhausted);
}

TEST_F(Reading, HoldsNoMoreThanHasArrived) {
  auto budget = std::make_shared<ReceiveBudget>(100);
  MessageReader reader(kLimit, budget);
  const std::string bytes = frame(std::string(1000, 'x'));
  EXPECT_TRUE(reader.push(std::string_view(bytes).substr(0, 105)));
  EXPECT_FALSE(budget->take(1));
  const auto more = reader.push(std::string_view(bytes).substr(105, 1));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Code::kResourceExhausted);
}

TEST_F(Reading, AnAnnouncementAloneTakesNoMemory) {
  constexpr std::size_t kLarge = 64 * kMiB;
  MessageReader reader(kLarge, std::make_shared<ReceiveBudget>(kLarge));
  const auto bytes_in_use = [] {
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const std::size_t before = bytes_in_use();
  EXPECT_TRUE(reader.push(MessageHead(kLarge).bytes()));
  EXPECT_TRUE(reader.push(std::string(kLarge / 16, 'x')));
  EXPECT_LE(bytes_in_use(), before + kLarge / 4);
}

TEST_F(Reading, GivesTheBudgetBack) {
  auto budget = std::make_shared<ReceiveBudget>(100);
  {
    MessageReader reader(kLimit, budget);
    EXPECT_TRUE(reader.push(frame(std::string(100, 'x'))));
    EXPECT_TRUE(budget->take(100)) << "a complete message counts no longer";
    budget->give_back(100);
    reader.take();
    EXPECT_TRUE(reader.push(frame(std::string(200, 'x')).substr(0, 50)));
    EXPECT_FALSE(budget->take(100));
  }
  EXPECT_TRUE(budget->take(100));
}

TEST_F(Reading, Decompresses) {
  reader_.set_encoding(Encoding::kGzip);
  EXPECT_TRUE(reader_.push(frame(gzip("hello"), 1)));
  EXPECT_EQ(reader_.take(), "hello");
  EXPECT_TRUE(reader_.push(frame("plain in between", 0)));
  EXPECT_EQ(reader_.take(), "plain in between");
  EXPECT_TRUE(reader_.push(frame(gzip(""), 1)));
  EXPECT_EQ(reader_.take(), "");
}

TEST_F(Reading, CountsTheLimitAfterDecompression) {
  reader_.set_encoding(Encoding::kGzip);
  EXPECT_TRUE(reader_.push(frame(gzip(std::string(kLimit, 'x')), 1)));
  EXPECT_EQ(reader_.take().size(), kLimit);
  EXPECT_EQ(refused(frame(gzip(std::string(kLimit + 1, 'x')), 1)), Code::kResourceExhausted);
}

TEST_F(Reading, RefusesWhatIsNoGzip) {
  reader_.set_encoding(Encoding::kGzip);
  const std::string good = gzip("hello");
  for (const std::string& bad :
       {std::string("hello"), std::string(), good.substr(0, good.size() - 1), good + "x"}) {
    MessageReader reader(kLimit, budget_);
    reader.set_encoding(Encoding::kGzip);
    const auto taken = reader.push(frame(bad, 1));
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, Code::kInternal);
  }
}

TEST_F(Reading, RefusesFlagsItDoesNotKnow) {
  EXPECT_EQ(refused(frame("x", 1)), Code::kInternal) << "compressed, and no encoding was named";
  MessageReader other(kLimit, budget_);
  EXPECT_EQ(other.push(frame("x", 2)).error().code, Code::kInternal);
}

}  // namespace
}  // namespace tiphys::rpc
