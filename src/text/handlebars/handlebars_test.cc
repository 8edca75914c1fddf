#include "text/handlebars/handlebars.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tiphys::handlebars {
namespace {

Tree context() {
  const auto entry = [](const char* name, const char* port) {
    return Tree(Tree::Map().set("name", name).set("port", port));
  };
  return Tree::Map()
      .set("s", "hello")
      .set("e", "")
      .set("ml", "line1\nline2")
      .set("num", "10")
      .set("html", "<a>&'")
      .set("l", Tree::List{"x", "y", "z"})
      .set("el", Tree::List{})
      .set("lo", Tree::List{entry("n1", "80"), entry("n2", "81")})
      .set("two", Tree::Map().set("x", "1").set("y", "2"))
      .set("n", Tree::Map().set("a", "1").set("b", Tree::Map().set("c", "deep")));
}

std::string rendered(const std::string& source) {
  const auto result = render(source, context());
  return result ? result->text : result.error().message;
}

struct Row {
  std::string source;
  std::string text;
};

void expect(const std::vector<Row>& rows) {
  for (const auto& [source, text] : rows) {
    SCOPED_TRACE(source);
    EXPECT_EQ(rendered(source), text);
  }
}

std::string failed(int column, const std::string& reason) {
  return "Error rendering \"Unnamed template\" line 1, col " + std::to_string(column) + ": " +
         reason;
}

// [utest->swdd~server-delegate-template-render-to-external-library~1]
TEST(Handlebars, InsertsValuesWithoutEscaping) {
  expect({{"a {{s}} b", "a hello b"},
          {"{{{html}}}{{&html}}{{html}}", "<a>&'<a>&'<a>&'"},
          {"{{l}} {{n}} {{el}} {{lo}}", "[x, y, z] [object] [] [[object], [object]]"},
          {"{a} {{\ns\t}} }", "{a} hello }"}});
}

TEST(Handlebars, FollowsPaths) {
  expect({{"{{n.b.c}}{{n/b/c}}{{l.0}}{{l.[1]}}{{[s]}}", "deepdeepxyhello"},
          {"{{./s}}{{this.s}}{{@root.n.a}}", "hellohello1"},
          {"{{#with n}}{{../s}}{{@root.s}}{{/with}}", "hellohello"},
          {"{{../s}}", "hello"},
          {"{{#each lo}}{{../../name}}{{/each}}", "n1n2"},
          {"{{n.nope}}", failed(1, "Failed to access variable in strict mode Some(\"n.nope\")")},
          {"a {{l.9}}", failed(3, "Failed to access variable in strict mode Some(\"l.9\")")},
          {"{{l.foo}}", failed(1, "Cannot access array/vector with string index, foo")}});
}

TEST(Handlebars, ReadsLiterals) {
  expect({{"{{#each [1, -2, 1.50, \"b\", true, null]}}{{this}},{{/each}}", "1,-2,1.5,b,true,,"},
          {"{{lookup {\"p\": \"q\"} \"p\"}}", "q"},
          {"{{eq \"a\\\"b\" 'a\"b'}}", "true"},
          {"{{#with 1E20}}{{this}}{{/with}}", "1e+20"},
          {"{{len \"a\nb\"}}", "Failed to parse template invalid parameter \"\\\"a\\nb\\\"\""},
          {"{{#with 007}}{{/with}}", "Failed to parse template invalid parameter \"007\""}});
}

TEST(Handlebars, HasConditions) {
  expect({{"{{#if s}}y{{else}}n{{/if}}{{#if e}}y{{^}}n{{/if}}{{#if nope}}y{{else}}n{{/if}}", "ynn"},
          {"{{#unless e}}x{{/unless}}", "x"},
          {"{{#if 0}}y{{else}}n{{/if}}{{#if 0 includeZero=true}}y{{/if}}", "ny"},
          {"{{#if e}}1{{else if s}}2{{else}}3{{/if}}", "2"},
          {"{{#if e}}{{else each l as |v|}}{{v}}{{/if}}", "xyz"},
          {"{{#if}}x{{/if}}",
           failed(1, "Helper/Decorator if param at index 0 required but not found")},
          {"{{#unless}}{{/unless}}",
           failed(1, "Helper/Decorator if param at index 0 required but not found")}});
}

TEST(Handlebars, IteratesAndEnters) {
  expect(
      {{"{{#each l}}{{@index}}{{this}}{{#unless @last}},{{/unless}}{{/each}}", "0x,1y,2z"},
       {"{{#each two as |v k|}}{{k}}={{v}}{{@key}}{{@first}};{{/each}}", "x=1xtrue;y=2yfalse;"},
       {"{{#each lo}}{{#each this}}{{@../index}}{{@key}} {{/each}}{{/each}}",
        "0name 0port 1name 1port "},
       {"{{#each el}}x{{else}}none{{/each}}[{{#each el}}x{{/each}}]", "none[]"},
       {"{{#each s}}x{{/each}}", failed(1, "Failed to access variable in strict mode Some(\"s\")")},
       {"{{#with n as |m|}}{{m.a}}{{a}}{{/with}}", "11"},
       {"{{#with e}}x{{else}}y{{/with}}", "y"},
       {"{{#with nope}}x{{/with}}",
        failed(1, "Failed to access variable in strict mode Some(\"nope\")")}});
}

TEST(Handlebars, ComputesValues) {
  expect(
      {{"{{lookup l 1}}{{lookup n \"a\"}}", "y1"},
       {"{{lookup n \"zz\"}}", failed(1, "Failed to access variable in strict mode None")},
       {"{{lookup l}}",
        failed(1, "Helper/Decorator lookup param at index 1 required but not found")},
       {"{{eq s \"hello\"}} {{eq num 10}} {{ne s e}} {{eq 1 1.0}}", "true false true false"},
       {"{{gt num 9}} {{gte 9 9}} {{lt \"a\" \"b\"}} {{lte l 3}} {{gt s 5}}",
        "true true true false false"},
       {"{{eq s nope}}", failed(1, "Helper/Decorator eq param at index 1 required but not found")},
       {"{{and s e}} {{and}} {{or nope s}} {{or}} {{not e}}", "false true true false true"},
       {"{{not nope}}", failed(1, "Helper/Decorator not param at index 0 required but not found")},
       {"{{len l}}{{len n}}{{len s}}{{len 5}}", "3250"},
       {"{{len nope}}", failed(1, "Helper/Decorator len param with name x required but not found")},
       {"{{#if (and s (not e))}}y{{/if}}{{(len l)}}", "y3"},
       {"{{foo s}}", failed(1, "Helper not found foo")},
       {"{{#if (foo s)}}x{{/if}}", failed(1, "Helper not found foo")},
       {"{{#n}}{{/n}}", failed(1, "Helper not found n")}});
}

TEST(Handlebars, LogsForWhoeverRenders) {
  const auto result = render("a{{log \"m\" s}}b{{log l level=\"WARN\"}}", context());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->text, "ab");
  EXPECT_EQ(result->log, (std::vector<LogLine>{{"info", "m, s: hello"}, {"warn", "l: [x, y, z]"}}));
  EXPECT_EQ(rendered("{{log s level=\"foo\"}}"), failed(1, "Invalid logging level: foo"));
}

TEST(Handlebars, LeavesTextAlone) {
  expect({{"a{{! c }}b{{!-- {{s}} --}}c", "abc"},
          {"\\{{s}} \\\\{{s}} a\\b", "{{s}} \\hello a\\b"},
          {"a {{{{raw}}}} {{x}} {{{{/raw}}}} b", "a {{x}}  b"},
          {"{{{{foo}}}}x{{{{/foo}}}}", failed(1, "Helper not found foo")}});
}

TEST(Handlebars, TakesWhiteSpaceAndLinesAway) {
  expect({{"a \n {{~s~}} \n b", "ahellob"},
          {"a\n  {{#if s}}  \n  x\n  {{/if}}\nb\n", "a\n  x\nb\n"},
          {"{{#if e}}\nx\n{{else}}\ny\n{{/if}}\nz", "y\nz"},
          {"a\n{{! c }}\nb", "a\nb"},
          {"a {{#if s}}\nx\n{{/if}} b", "a \nx\n b"}});
}

TEST(Handlebars, HasPartials) {
  expect({{"{{#*inline \"p\"}}<{{v}}{{s}}>{{/inline}}{{> p v=1}}", "<1hello>"},
          {"{{#*inline \"p\"}}{{a}}{{/inline}}{{> p n}}", "1"},
          {"{{#*inline \"p\"}}[{{> @partial-block}}]{{/inline}}{{#> p}}in{{s}}{{/p}}", "[inhello]"},
          {"{{#> nope}}fallback{{/nope}}", "fallback"},
          {"{{#*inline \"x\"}}X{{/inline}}{{> (lookup l 0)}}", "X"},
          {"{{> foo}}", failed(1, "Partial not found foo")},
          {"{{> @partial-block}}", failed(1, "Partial block cound not be found")},
          {"{{*foo}}", failed(1, "Decorator not found foo")},
          {"{{#*inline nope}}{{/inline}}", failed(1, "Invalid param type, String expected")},
          {"{{*inline \"p\"}}", failed(1, "Block content required")}});
}

// [utest->swdd~config-renderer-supports-rendering-with-keeping-line-indent~1]
TEST(Handlebars, IndentsEveryLine) {
  expect({{"a:\n  {{> indent content=ml}}\nb", "a:\n  line1\n  line2b"},
          {"a: {{> indent content=ml}}\nb", "a: line1\n line2\nb"},
          {"a:\n  {{> indent content=nope}}\nb", "a:\nb"},
          {"{{> indent}}",
           "Error rendering \"indent\" line 1, col 1: Failed to access variable in strict mode "
           "Some(\"content\")"}});
}

TEST(Handlebars, ShowsWhereTheSyntaxIsWrong) {
  EXPECT_EQ(
      rendered("{{#if s}}\nx{{/each}}"),
      "Failed to parse template Template error: helper \"if\" was opened, but \"each\" is closing\n"
      "    --> Template error in \"Unnamed\":2:2\n"
      "     |\n"
      "   0 | {{#if s}}\n"
      "   1 | x{{/each}}\n"
      "     |--^-------\n"
      "     |\n"
      "     = reason: helper \"if\" was opened, but \"each\" is closing\n");
  EXPECT_TRUE(
      rendered("{{}}").starts_with("Failed to parse template Template error: invalid handlebars "
                                   "syntax: expected identifier, subexpression, "
                                   "leading_tilde_to_omit_whitespace, or path_inline\n"));
  EXPECT_TRUE(rendered("{{else}}")
                  .starts_with("Failed to parse template Template error: invalid handlebars "
                               "syntax: unexpected invert_tag_item; expected "
                               "leading_tilde_to_omit_whitespace\n"));
}

TEST(Handlebars, RefusesWhatCrashesTheCrate) {
  EXPECT_NE(rendered("{{#if e}}a{{~else if s}}b{{/if}}").find("there must be no ~"),
            std::string::npos);
  EXPECT_NE(rendered("{{#*inline \"p\"}}{{> p}}{{/inline}}{{> p}}").find("nested more than"),
            std::string::npos);
}

std::string repeated(const std::string& text, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

TEST(Handlebars, RefusesWhatIsTooLarge) {
  constexpr std::size_t kMany = 100'000;
  const std::vector<std::string> sources = {
      repeated("{{#if s}}", kMany) + repeated("{{/if}}", kMany),
      "{{len " + repeated("(len ", kMany) + "s" + repeated(")", kMany) + "}}",
      "{{len " + repeated("[", kMany) + repeated("]", kMany) + "}}",
      "{{#if e}}" + repeated("{{else if e}}", kMany) + "{{/if}}",
      "{{#*inline \"p\"}}{{#> p}}{{/p}}{{> p}}{{/inline}}{{> p}}",
      "{{#*inline \"p\"}}{{s}}{{> p v=this}}{{> p w=this}}{{/inline}}{{> p}}",
      std::string((std::size_t{16} << 20U) + 1, 'x'),
  };
  for (const std::string& source : sources) {
    SCOPED_TRACE(source.substr(0, 60));
    EXPECT_FALSE(render(source, context(), {.steps = 50'000}));
  }
  const std::string thousand = "[" + repeated("1,", 999) + "1]";
  const std::string each = "{{#each " + thousand + "}}";
  EXPECT_FALSE(
      render(each + each + each + "x" + repeated("{{/each}}", 3), context(), {.steps = 50'000}));
}

}  // namespace
}  // namespace tiphys::handlebars
