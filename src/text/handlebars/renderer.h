#pragma once

// Renders templates. The elements are in renderer.cc, helpers such as {{#each}} in helpers.cc, partials and decorators in
// partials.cc.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/handlebars/ast.h"
#include "text/handlebars/budget.h"
#include "text/handlebars/failure.h"
#include "text/handlebars/handlebars.h"
#include "text/handlebars/output.h"
#include "text/handlebars/scope.h"
#include "text/handlebars/value.h"

namespace tiphys::handlebars {

// A parameter with its value: nothing where a path leads nowhere.
struct Argument {
  std::optional<std::string> path;  // as it was written, when it was a path
  std::optional<Value> value;
};

struct Arguments {
  std::vector<Argument> list;
  std::map<std::string, Argument> hash;
};

class Renderer {
 public:
  Renderer(Value root, const Limits& limits);

  Done render(const Template& whole);
  Rendered take() { return {out_.exchange(), std::move(log_)}; }

 private:
  // A helper as it was called. Inside (…) it has no block, and what it writes is its value.
  struct HelperCall {
    const std::string& name;
    const Arguments& arguments;
    const Block* block;
  };
  // The value that is written; nothing for a helper that writes itself.
  using HelperResult = Outcome<std::optional<Value>>;
  struct Helper {
    std::string_view name;
    HelperResult (Renderer::*function)(const HelperCall&);
    // Decides between a block and its {{else}}. Without a block it writes true or false, which is never indented.
    bool is_condition = false;
  };
  // nullptr when there is none.
  static const Helper* find_helper(std::string_view name);

  // --- elements (renderer.cc) ---
  Done elements(const Template& part);
  Done element(const Element& element);
  Done expression(const Call& call);
  Done block(const Block& block);
  Done write(const Value& value);
  // The part in a scope of its own.
  Done in_scope(const Template& part, Scope scope);

  Outcome<Argument> evaluate(const Parameter& parameter);
  Outcome<Arguments> evaluate_arguments(const Call& call);
  Outcome<Value> value_of_call(const Call& call);
  // Limits how deeply things are rendered inside each other.
  Done nested(const std::function<Done()>& body);

  // --- helpers (helpers.cc) ---
  static Done given(const HelperCall& call, std::size_t count);
  static Outcome<Value> required(const HelperCall& call, std::size_t index);
  Done body(const HelperCall& call);
  Done inverse(const HelperCall& call);
  HelperResult if_(const HelperCall& call);
  HelperResult unless(const HelperCall& call);
  HelperResult condition(const HelperCall& call, bool wanted);
  HelperResult each(const HelperCall& call);
  Done iterate(const HelperCall& call, const Value& item, std::size_t index, std::size_t count,
               const std::string* key);
  HelperResult with(const HelperCall& call);
  HelperResult lookup(const HelperCall& call);
  HelperResult raw(const HelperCall& call);
  HelperResult log(const HelperCall& call);
  HelperResult eq(const HelperCall& call);
  HelperResult ne(const HelperCall& call);
  template <class Holds>
  HelperResult ordered(const HelperCall& call, Holds holds);
  HelperResult gt(const HelperCall& call);
  HelperResult gte(const HelperCall& call);
  HelperResult lt(const HelperCall& call);
  HelperResult lte(const HelperCall& call);
  HelperResult and_(const HelperCall& call);
  HelperResult or_(const HelperCall& call);
  HelperResult not_(const HelperCall& call);
  HelperResult len(const HelperCall& call);

  // --- partials and decorators (partials.cc) ---
  struct NamedPartial {
    TemplatePtr body;
    std::string template_name;
  };
  Done decorator(const Decorator& decorator);
  Done partial(const Partial& partial);
  Done render_partial(const Partial& partial, const NamedPartial& found);
  Done named_partial(const Partial& partial, const std::string& name);
  Outcome<std::string> partial_name(const Call& call);
  Outcome<Value> partial_context(const Call& call);

  Value root_;
  Budget budget_;
  Output out_;
  std::vector<LogLine> log_;
  Scopes scopes_;
  std::map<std::string, NamedPartial> partials_;
  std::optional<std::string> partial_block_;  // what {{> @partial-block}} writes
  std::string template_name_;
  std::size_t depth_ = 0;
};

}  // namespace tiphys::handlebars
