#include "io/http/message_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <optional>
#include <string>
#include <vector>

#include "base/strings.h"

namespace tiphys::http {
namespace {

constexpr std::size_t kHeadBytes = 1024;
constexpr std::size_t kBodyBytes = 100;

struct Read {
  std::vector<RequestHead> heads;
  std::vector<std::string> bodies;  // of the requests that are complete
  std::optional<Refusal> refusal;
};

// Reads as a server does, in pieces of that size.
Read read_requests(const std::string& bytes, std::size_t piece) {
  Read result;
  RequestReader reader(kHeadBytes);
  std::string buffer;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    buffer += bytes.substr(at, piece);
    while (true) {
      const auto progress = reader.read(buffer);
      if (!progress) {
        result.refusal = progress.error();
        return result;
      }
      if (*progress == Progress::kNeedsMore) break;
      if (*progress == Progress::kHead) {
        result.heads.push_back(reader.head());
        reader.limit_body(kBodyBytes);
      } else {
        result.bodies.push_back(reader.body());
        reader = RequestReader(kHeadBytes);
      }
    }
  }
  return result;
}

TEST(RequestReader, ReadsHoweverTheBytesAreCut) {
  const std::string requests =
      "\r\nGET /first?x=1 HTTP/1.1\r\nHost: a\r\n\r\n"
      "POST /second HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
      "POST /third HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;ext=1\r\nwor\r\n2\r\nld\r\n0\r\nTrailer: dropped\r\n\r\n"
      "POST /empty HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
      "GET /last HTTP/1.0\r\n\r\n";
  for (std::size_t piece = 1; piece <= requests.size(); ++piece) {
    SCOPED_TRACE(piece);
    const Read read = read_requests(requests, piece);
    ASSERT_FALSE(read.refusal) << read.refusal->message;
    ASSERT_EQ(read.heads.size(), 5U);
    EXPECT_EQ(read.heads[0].target, "/first?x=1");
    EXPECT_EQ(read.heads[2].headers.find("Trailer"), nullptr);
    EXPECT_FALSE(read.heads[4].is_1_1);
    EXPECT_EQ(read.bodies, (std::vector<std::string>{"", "hello", "world", "", ""}));
  }
}

TEST(RequestReader, RefusesWhatCouldBeReadInTwoWays) {
  struct Row {
    std::string head;  // after the request line and Host
    int status;
  };
  for (const auto& row :
       std::vector<Row>{{"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400},
                        {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400},
                        {"Content-Length: 5\r\nContent-Length: 6\r\n", 400},
                        {"Content-Length: 5\r\nContent-Length: 5\r\n", 400},
                        {"Content-Length: 5, 5\r\n", 400},
                        {"Content-Length: -5\r\n", 400},
                        {"Content-Length: +5\r\n", 400},
                        {"Content-Length: 0x5\r\n", 400},
                        {"Content-Length: 5 5\r\n", 400},
                        {"Content-Length:\r\n", 400},
                        {"Content-Length: 99999999999999999999\r\n", 400},
                        {"Content-Length : 5\r\n", 400},
                        {" Content-Length: 5\r\n", 400},
                        {"Transfer-Encoding: gzip\r\n", 501},
                        {"Transfer-Encoding: identity\r\n", 501},
                        {"Transfer-Encoding: gzip, chunked\r\n", 501},
                        {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
                        {"Transfer-Encoding: xchunked\r\n", 501},
                        {"Transfer-Encoding : chunked\r\n", 400},
                        {"X: folded\r\n line\r\n", 400},
                        {"Transfer-Encoding:\r\n chunked\r\n", 400},
                        {"Host: b\r\n", 400},
                        {"X: a\nY: b\r\n", 400},
                        {"No colon\r\n", 400},
                        {std::string("X: a\0b\r\n", 8), 400}}) {
    SCOPED_TRACE(row.head);
    const std::string request = "POST / HTTP/1.1\r\nHost: a\r\n" + row.head + "\r\nhello";
    for (const std::size_t piece : {std::size_t{1}, request.size()}) {
      const Read read = read_requests(request, piece);
      ASSERT_TRUE(read.refusal);
      EXPECT_EQ(read.refusal->status, row.status) << read.refusal->message;
      EXPECT_TRUE(read.bodies.empty());
    }
  }
}

TEST(RequestReader, RefusesWhatIsNoRequest) {
  struct Row {
    std::string bytes;
    int status;
  };
  for (const auto& row : std::vector<Row>{
           {"GARBAGE\r\n\r\n", 400},
           {std::string("\x16\x03\x01\x02\x00\x01\x00", 7) + std::string(20, 'x'), 400},
           {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
           {"GET / HTTP/1.2\r\n\r\n", 505},
           {"GET / HTTP/0.9\r\n\r\n", 505},
           {"GET /\r\n\r\n", 400},
           {"GET / HTTP/1.1\n\n", 505},
           {"GET  / HTTP/1.1\r\n\r\n", 400},
           {"G@T / HTTP/1.1\r\n\r\n", 400},
           {"GET / HTTP/1.1\r\n\r\n", 400},
           {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400}}) {
    SCOPED_TRACE(row.bytes);
    const Read read = read_requests(row.bytes, row.bytes.size());
    ASSERT_TRUE(read.refusal);
    EXPECT_EQ(read.refusal->status, row.status) << read.refusal->message;
    EXPECT_FALSE(read.refusal->message.empty());
  }
}

TEST(RequestReader, RefusesAHeadThatDoesNotEnd) {
  const std::string endless(kHeadBytes * 2, 'x');
  for (const std::size_t piece : {std::size_t{1}, std::size_t{100}, std::size_t{5000}}) {
    SCOPED_TRACE(piece);
    EXPECT_EQ(read_requests("GET /" + endless, piece).refusal->status, 414);
    EXPECT_EQ(read_requests("GET / HTTP/1.1\r\nX: " + endless, piece).refusal->status, 431);
    std::string many = "GET / HTTP/1.1\r\n";
    for (int i = 0; i < 500; ++i) many += "A: b\r\n";
    EXPECT_EQ(read_requests(many, piece).refusal->status, 431);
    EXPECT_EQ(read_requests(many + "\r\n", piece).refusal->status, 431);
  }
}

TEST(RequestReader, RefusesABodyThatIsTooLong) {
  const std::string chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string piece = "32\r\n" + std::string(50, 'x') + "\r\n";
  for (const std::size_t size : {std::size_t{1}, std::size_t{1000}}) {
    EXPECT_EQ(read_requests(concat(chunked, piece, piece, "0\r\n\r\n"), size).bodies.size(), 1U);
    EXPECT_EQ(read_requests(concat(chunked, piece, piece, "1\r\n"), size).refusal->status, 413);
    EXPECT_EQ(read_requests(chunked + "ffffffffffffffff\r\n", size).refusal->status, 413);
    EXPECT_EQ(read_requests(chunked + "10000000000000000\r\n", size).refusal->status, 400);
    EXPECT_EQ(read_requests(chunked + "-1\r\n...", size).refusal->status, 400);
    EXPECT_EQ(read_requests(chunked + "1\r\nxx\r\n...", size).refusal->status, 400);
    const std::string endless(kHeadBytes * 2, 'x');
    EXPECT_EQ(read_requests(concat(chunked, "1;", endless), size).refusal->status, 400);
    EXPECT_EQ(read_requests(concat(chunked, "0\r\nX: ", endless), size).refusal->status, 400);
  }
}

// However bytes are cut, the same is read from them.
TEST(RequestReader, DoesNotCareHowBytesAreCut) {
  EXPECT_TRUE(rc::check([](const std::string& noise) {
    const std::string bytes =
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n" +
        noise + "\r\n\r\n";
    const Read whole = read_requests(bytes, bytes.size());
    for (const std::size_t piece : {1U, 2U, 3U, 7U}) {
      const Read cut = read_requests(bytes, piece);
      RC_ASSERT(cut.bodies == whole.bodies);
      RC_ASSERT(cut.refusal.has_value() == whole.refusal.has_value());
    }
  }));
}

struct Answer {
  std::string body;
  std::optional<Refusal> refusal;
  bool is_done = false;
};

Answer read_response(const std::string& bytes, bool to_head_request = false) {
  ResponseReader reader(kHeadBytes, to_head_request);
  std::string buffer = bytes;
  Answer answer;
  while (true) {
    auto progress = reader.read(buffer);
    answer.body += reader.take_body();
    if (progress && *progress == Progress::kHead) continue;
    if (progress && *progress == Progress::kNeedsMore) progress = reader.end();
    if (!progress) answer.refusal = progress.error();
    answer.is_done = progress.has_value();
    return answer;
  }
}

TEST(ResponseReader, KnowsWhereAnAnswerEnds) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  EXPECT_EQ(read_response(head + "Content-Length: 3\r\n\r\nabcdef").body, "abc");
  EXPECT_EQ(read_response(head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n").body,
            "abc");
  EXPECT_EQ(read_response(head + "\r\nuntil the end").body, "until the end");
  EXPECT_EQ(read_response(head + "Content-Length: 3\r\n\r\n", true).body, "");
  EXPECT_TRUE(read_response(head + "Content-Length: 3\r\n\r\n", true).is_done);
  EXPECT_TRUE(read_response("HTTP/1.1 204 No Content\r\n\r\n").is_done);
}

TEST(ResponseReader, NoticesWhatIsMissing) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  for (const std::string& bytes :
       {std::string(), std::string("HTTP/1.1 200"), head, head + "Content-Length: 3\r\n\r\nab",
        head + "Transfer-Encoding: chunked\r\n\r\n3\r\nab",
        head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"}) {
    SCOPED_TRACE(bytes);
    ASSERT_TRUE(read_response(bytes).refusal);
    EXPECT_EQ(read_response(bytes).refusal->message,
              "the connection ended in the middle of a message");
  }
  EXPECT_TRUE(read_response("SSH-2.0-OpenSSH_9.2\r\n").refusal);
}

}  // namespace
}  // namespace tiphys::http
