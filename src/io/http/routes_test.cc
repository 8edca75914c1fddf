#include "io/http/routes.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace tiphys::http {
namespace {

using Captures = std::map<std::string, std::string>;

Routes example() {
  Routes routes;
  routes.add("GET", "/", 0);
  routes.add("GET", "/v1/tasks/{id}", 1);
  routes.add("DELETE", "/v1/tasks/{id}", 2);
  routes.add("GET", "/v1/tasks/all", 3);
  routes.add("GET", "/ui/{rest...}", 4);
  routes.add("GET", "/ui/{page}/edit", 5);
  routes.add("POST", "/v1/{kind}/{id}", 6);
  routes.add("HEAD", "/v1/tasks/all", 7);
  return routes;
}

TEST(Routes, FindTheMostSpecificPattern) {
  const Routes routes = example();
  struct Row {
    std::string method;
    std::string path;
    std::size_t index;
    Captures captures;
  };
  for (const auto& row :
       std::vector<Row>{{"GET", "/", 0, {}},
                        {"GET", "/v1/tasks/7", 1, {{"id", "7"}}},
                        {"DELETE", "/v1/tasks/7", 2, {{"id", "7"}}},
                        {"DELETE", "/v1/tasks/all", 2, {{"id", "all"}}},
                        {"GET", "/v1/tasks/all", 3, {}},
                        {"HEAD", "/v1/tasks/all", 7, {}},
                        {"HEAD", "/v1/tasks/7", 1, {{"id", "7"}}},
                        {"GET", "/ui/", 4, {{"rest", ""}}},
                        {"GET", "/ui/a/b.css", 4, {{"rest", "a/b.css"}}},
                        {"GET", "/ui/a/edit", 5, {{"page", "a"}}},
                        {"GET", "/ui/a/b/edit", 4, {{"rest", "a/b/edit"}}},
                        {"POST", "/v1/tasks/7", 6, {{"kind", "tasks"}, {"id", "7"}}},
                        {"GET", "/v1/tasks/a%2Fb%20c", 1, {{"id", "a/b c"}}},
                        {"GET", "/v1/t%61sks/%61ll", 3, {}}}) {
    SCOPED_TRACE(row.method + " " + row.path);
    const auto found = routes.find(row.method, row.path);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->index, row.index);
    EXPECT_EQ(found->captures, row.captures);
  }
}

TEST(Routes, SayWhatIsMissing) {
  const Routes routes = example();
  struct Row {
    std::string method;
    std::string path;
    int status;
    std::vector<std::string> allowed;
  };
  for (const auto& row :
       std::vector<Row>{{"GET", "/nowhere", 404, {}},
                        {"GET", "/v1/tasks/", 404, {}},
                        {"GET", "/v1//7", 404, {}},
                        {"GET", "/v1/tasks/7/", 404, {}},
                        {"GET", "/ui", 404, {}},
                        {"PUT", "/", 405, {"GET", "HEAD"}},
                        {"PUT", "/v1/tasks/7", 405, {"DELETE", "GET", "HEAD", "POST"}},
                        {"GET", "/ui/../secret", 400, {}},
                        {"GET", "/ui/%2e%2E/secret", 400, {}},
                        {"GET", "/ui/./x", 400, {}},
                        {"GET", "/ui/..%2fsecret", 404, {}},
                        {"GET", "/v1/tasks/%", 400, {}},
                        {"GET", "/v1/tasks/%00", 400, {}}}) {
    SCOPED_TRACE(row.method + " " + row.path);
    const auto found = routes.find(row.method, row.path);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().status, row.status);
    EXPECT_EQ(found.error().allowed, row.allowed);
    EXPECT_NE(found.error().message.find("'" + row.path + "'"), std::string::npos);
  }
}

TEST(Routes, TakeThePatternWithTheTextFurtherLeft) {
  Routes routes;
  routes.add("GET", "/{a}/b", 0);
  routes.add("GET", "/a/{b}", 1);
  EXPECT_EQ(routes.find("GET", "/a/b")->index, 1U);
  EXPECT_EQ(routes.find("GET", "/x/b")->index, 0U);
}

TEST(RoutesDeathTest, RefuseWhatNobodyCanMean) {
  const auto add_all = [](const std::vector<std::string>& patterns) {
    Routes routes;
    for (const auto& pattern : patterns) routes.add("GET", pattern, 0);
  };
  for (const auto& [patterns, sentence] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"a"}, "begins with '/'"},
           {{"/{a}", "/{b}"}, "two routes for the same requests"},
           {{"/a", "/a"}, "two routes for the same requests"},
           {{"/{}"}, "captures have names"},
           {{"/{...}"}, "captures have names"},
           {{"/{a}/{a}"}, "captures have names"},
           {{"/{a"}, "ends with '}'"},
           {{"/a{b}"}, "a text or a capture"},
           {{"/{rest...}/b"}, "nothing follows the rest"}})
    EXPECT_DEATH(add_all(patterns), sentence) << patterns.front();
}

}  // namespace
}  // namespace tiphys::http
