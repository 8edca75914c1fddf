#pragma once

// A template, ready to be rendered.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/handlebars/value.h"

namespace tiphys::handlebars {

// Counts from 1; the column counts characters.
struct Place {
  std::size_t line = 1;
  std::size_t column = 1;
};

// a.b, ../a, @root.a: names below the context of a block.
struct Path {
  bool from_root = false;
  std::size_t up = 0;                 // how many blocks further out
  std::vector<std::string> segments;  // none for `this`
  std::string text;                   // as it was written
};

// @index, @../key: a variable that a block has set.
struct Variable {
  std::size_t up = 0;
  std::string name;
  std::string text;
};

struct Call;

// What can be asked for its value. A call stands in parentheses.
using Parameter = std::variant<Path, Variable, Value, std::unique_ptr<Call>>;

// {{name parameters key=parameter}}. The name is a parameter itself: {{a.b}} and {{(f x)}} call nothing.
struct Call {
  std::variant<std::string, Parameter> name;  // a plain word, or something else
  std::vector<Parameter> parameters;
  std::vector<std::pair<std::string, Parameter>> hash;
};

// as |value| or as |value key|
struct BlockNames {
  std::string first;
  std::optional<std::string> second;
};

struct Element;

struct Template {
  std::vector<Element> elements;
};
using TemplatePtr = std::shared_ptr<const Template>;

struct Text {
  std::string text;
};

// {{x}}, {{{x}}}, {{&x}}
struct Expression {
  Call call;
};

// {{#x}}…{{else}}…{{/x}} and {{{{x}}}}…{{{{/x}}}}. In a chain of {{else y}} each link is the only element of the inverse.
struct Block {
  Call call;
  std::optional<BlockNames> names;
  TemplatePtr body;
  TemplatePtr inverse;  // null without {{else}}
};

// {{*x}} and {{#*x}}…{{/x}}
struct Decorator {
  Call call;
  TemplatePtr body;  // null when it is no block
};

// {{> x}} and {{#> x}}…{{/x}}
struct Partial {
  Call call;
  TemplatePtr body;          // null when it is no block
  std::string indent;        // what stands before each of its lines
  bool on_own_line = false;  // the indent also goes before its first line
};

struct Element {
  std::optional<Place> place;  // a link of a chain has none: its errors are those of the block
  std::variant<Text, Expression, Block, Decorator, Partial> content;
};

}  // namespace tiphys::handlebars
