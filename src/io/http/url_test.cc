#include "io/http/url.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tiphys::http {
namespace {

TEST(ParseUrl, TakesItApart) {
  for (const auto& [text, url] : std::vector<std::pair<std::string, Url>>{
           {"http://example.org", {false, "example.org", 80, "/"}},
           {"HTTPS://Example.ORG/Path?Query=1#fragment",
            {true, "example.org", 443, "/Path?Query=1"}},
           {"http://127.0.0.1:8080/", {false, "127.0.0.1", 8080, "/"}},
           {"https://[::1]:65535?x", {true, "::1", 65535, "/?x"}},
           {"http://[fe80::1%eth0]/", {false, "fe80::1%eth0", 80, "/"}},
           {"http://my_host.local/a%20b", {false, "my_host.local", 80, "/a%20b"}}}) {
    const auto parsed = parse_url(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, url) << text;
    EXPECT_EQ(parse_url(to_string(url)), url) << to_string(url);
  }
}

TEST(ParseUrl, NamesTheOffence) {
  for (const auto& [text, offence] : std::vector<std::pair<std::string, std::string>>{
           {"", "neither http:// nor https://"},
           {"example.org", "neither http:// nor https://"},
           {"ftp://example.org", "neither http:// nor https://"},
           {"http://", "no valid host"},
           {"http:///path", "no valid host"},
           {"http://:80/", "no valid host"},
           {"http://a b/", "holds a blank"},
           {"http://host/a b", "holds a blank"},
           {"http://host/ä", "beyond ASCII"},
           {"http://host/\r\nX: y", "holds a blank"},
           {"http://host:0/", "no valid port"},
           {"http://host:65536/", "no valid port"},
           {"http://host:-1/", "no valid port"},
           {"http://host:8x/", "no valid port"},
           {"http://host:/", "no valid port"},
           {"http://[::1", "lacks the ']'"},
           {"http://[::1]x/", "no valid port"},
           {"http://[]/", "no valid host"},
           {"http://[zz]/", "no valid host"},
           {"http://ho,st/", "no valid host"}}) {
    const auto parsed = parse_url(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().message.find(offence), std::string::npos)
        << text << ": " << parsed.error().message;
  }
}

TEST(ParseUrl, DoesNotRepeatAPassword) {
  const auto parsed = parse_url("http://user:secret@host/");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message.find("secret"), std::string::npos) << parsed.error().message;
  EXPECT_NE(parsed.error().message.find("user name"), std::string::npos);
}

TEST(ResolveUrl, FollowsReferences) {
  const Url base = *parse_url("http://host:81/a/b/c?d");
  for (const auto& [reference, expected] :
       std::vector<std::pair<std::string, std::string>>{{"https://other/x", "https://other/x"},
                                                        {"//other:82/x", "http://other:82/x"},
                                                        {"/x?y#z", "http://host:81/x?y"},
                                                        {"x", "http://host:81/a/b/x"},
                                                        {"./x/", "http://host:81/a/b/x/"},
                                                        {"../x", "http://host:81/a/x"},
                                                        {"../../../../x", "http://host:81/x"},
                                                        {"..", "http://host:81/a/"},
                                                        {".", "http://host:81/a/b/"},
                                                        {"?y", "http://host:81/a/b/c?y"},
                                                        {"#z", "http://host:81/a/b/c?d"},
                                                        {"", "http://host:81/a/b/c?d"},
                                                        {"x:y/z", ""},
                                                        {"mailto:somebody", ""},
                                                        {"a b", ""},
                                                        {"/a:b", "http://host:81/a:b"}}) {
    const auto resolved = resolve_url(base, reference);
    EXPECT_EQ(resolved ? to_string(*resolved) : "", expected) << reference;
  }
}

TEST(Url, KnowsItsOrigin) {
  const Url base = *parse_url("http://host/a");
  EXPECT_TRUE(base.has_same_origin(*parse_url("http://HOST:80/b")));
  for (const std::string other : {"https://host/a", "http://host:81/a", "http://other/a"})
    EXPECT_FALSE(base.has_same_origin(*parse_url(other))) << other;
}

}  // namespace
}  // namespace tiphys::http
