#include "io/http/message.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <utility>
#include <vector>

namespace tiphys::http {
namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

TEST(Headers, AreFoundWhateverTheCaseOfTheirNames) {
  Headers headers{{"Content-Type", "text/plain"}, {"X-Two", "first"}, {"x-two", "second"}};
  EXPECT_EQ(*headers.find("content-type"), "text/plain");
  EXPECT_EQ(*headers.find("X-TWO"), "first");
  EXPECT_EQ(headers.count("x-Two"), 2U);
  EXPECT_EQ(headers.find("X-Three"), nullptr);
  headers.set("X-TWO", "only");
  EXPECT_EQ(headers.count("x-two"), 1U);
  EXPECT_EQ(*headers.find("x-two"), "only");
  headers.remove("content-TYPE");
  EXPECT_EQ(headers.find("Content-Type"), nullptr);
}

TEST(Headers, KnowTheWordsOfTheirLists) {
  const Headers headers{{"Connection", "keep-alive,  Upgrade"}, {"Connection", "x"}};
  EXPECT_TRUE(headers.has_word("connection", "upgrade"));
  EXPECT_TRUE(headers.has_word("connection", "Keep-Alive"));
  EXPECT_TRUE(headers.has_word("connection", "x"));
  EXPECT_FALSE(headers.has_word("connection", "close"));
  EXPECT_FALSE(headers.has_word("connection", "keep"));
  EXPECT_FALSE(headers.has_word("upgrade", "upgrade"));
}

TEST(PercentDecode, ReplacesWhatIsEncoded) {
  for (const auto& [text, decoded] : std::vector<std::pair<std::string, std::string>>{
           {"", ""}, {"plain", "plain"}, {"a%20b", "a b"}, {"%2f%2F", "//"}, {"%C3%A4", "ä"}})
    EXPECT_EQ(percent_decode(text), decoded) << text;
  for (const std::string text : {"%", "%2", "a%2", "%zz", "%2g", "%00", "100%"})
    EXPECT_EQ(percent_decode(text), std::nullopt) << text;
}

TEST(ParseQuery, KeepsOrderAndRepetition) {
  for (const auto& [text, parameters] : std::vector<std::pair<std::string, Parameters>>{
           {"", {}},
           {"a=1&b=two+words", {{"a", "1"}, {"b", "two words"}}},
           {"a=2&a=1", {{"a", "2"}, {"a", "1"}}},
           {"flag&&x=", {{"flag", ""}, {"x", ""}}},
           {"a=b=c&%26=%3D", {{"a", "b=c"}, {"&", "="}}},
           {"=", {{"", ""}}}}) {
    const auto parsed = parse_query(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, parameters) << text;
  }
}

TEST(ParseQuery, NamesWhatItCannotDecode) {
  const auto parsed = parse_query("good=1&bad=%x");
  ASSERT_FALSE(parsed);
  EXPECT_TRUE(parsed.error().message.starts_with("query: 'bad=%x' holds a % "));
}

TEST(ParseTarget, SplitsPathAndQuery) {
  for (const auto& [text, path, query] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"/", "/", ""},
           {"/a/b?c=d?e", "/a/b", "c=d?e"},
           {"/a?", "/a", ""},
           {"http://host/a?b", "/a", "b"},
           {"HTTPS://host:1", "/", ""},
           {"http://host?b", "/", "b"}}) {
    const auto target = parse_target(text);
    ASSERT_TRUE(target) << text;
    EXPECT_EQ(target->path, path);
    EXPECT_EQ(target->query, query);
  }
  for (const std::string text : {"", "*", "a", "ftp://host/", "/a#b", "host:80"})
    EXPECT_FALSE(parse_target(text)) << text;
}

TEST(ErrorResponse, IsJsonWhateverTheMessageHolds) {
  const Response response = error_response(404, "no \"x\" at \xff\n");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(*response.headers.find("content-type"), "application/json");
  EXPECT_EQ(response.body, "{\"error\":{\"code\":404,\"message\":\"no \\\"x\\\" at \ufffd\\n\"}}");
}

TEST(HeaderValue, HoldsNoLineBreak) {
  EXPECT_TRUE(is_header_value("text; with=\"ä\"\tand tab"));
  for (const std::string& text : {std::string("a\r\nSet-Cookie: b"), std::string("a\n"),
                                  std::string("a\0b", 3), std::string("\x7f")})
    EXPECT_FALSE(is_header_value(text)) << text;
  EXPECT_TRUE(is_token("X-Name_1"));
  for (const std::string text : {"", "a b", "a:", "ä", "a\n"}) EXPECT_FALSE(is_token(text)) << text;
}

// Whatever is encoded is decoded again.
TEST(PercentDecode, UndoesEncoding) {
  EXPECT_TRUE(rc::check([](const std::string& text) {
    RC_PRE(text.find('\0') == std::string::npos);
    std::string encoded;
    for (const char letter : text) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(letter);
      encoded += {'%', kDigits[byte / 16], kDigits[byte % 16]};
    }
    RC_ASSERT(percent_decode(encoded) == text);
  }));
}

}  // namespace
}  // namespace tiphys::http
