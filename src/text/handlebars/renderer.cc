#include "text/handlebars/renderer.h"

#include "base/match.h"
#include "base/strings.h"
#include "text/handlebars/debug_text.h"

namespace tiphys::handlebars {

Renderer::Renderer(Value root, const Limits& limits)
    : root_(std::move(root)), budget_(limits), out_(budget_) {
  scopes_.push_back({root_});
  Template indent;
  indent.elements.push_back(
      {Place{}, Expression{Call{.name = "content", .parameters = {}, .hash = {}}}});
  partials_["indent"] = {std::make_shared<const Template>(std::move(indent)), "indent"};
}

Done Renderer::render(const Template& whole) { return elements(whole); }

Done Renderer::elements(const Template& part) {
  for (const Element& element : part.elements) {
    auto done = budget_.spend_steps(1);
    if (done) done = this->element(element);
    if (done) continue;
    Failure failure = std::move(done).error();
    if (!failure.place && element.place) {
      failure.place = element.place;
      failure.template_name = template_name_;
    }
    return fails(std::move(failure));
  }
  return {};
}

Done Renderer::element(const Element& element) {
  return match(
      element.content, [&](const Text& text) { return out_.write(text.text); },
      [&](const Expression& expression) { return this->expression(expression.call); },
      [&](const Block& block) { return nested([&] { return this->block(block); }); },
      [&](const Decorator& decorator) { return this->decorator(decorator); },
      [&](const Partial& partial) { return nested([&] { return this->partial(partial); }); });
}

Done Renderer::nested(const std::function<Done()>& body) {
  if (depth_ == budget_.limits().depth)
    return fails("Blocks, subexpressions and partials are nested more than " +
                     std::to_string(depth_) + " deep; is there a partial that contains itself?",
                 Code::kResourceExhausted);
  ++depth_;
  auto done = body();
  --depth_;
  return done;
}

Done Renderer::expression(const Call& call) {
  if (const auto* word = std::get_if<std::string>(&call.name)) {
    if (const Helper* helper = find_helper(*word)) {
      TIPHYS_TAKE(const Arguments arguments, evaluate_arguments(call));
      TIPHYS_TAKE(const std::optional<Value> value,
                  (this->*helper->function)({*word, arguments, nullptr}));
      if (!value) return {};
      if (helper->is_condition) return out_.write_unindented(*value->boolean() ? "true" : "false");
      return write(*value);
    }
    if (!call.parameters.empty() || !call.hash.empty()) {
      TIPHYS_TAKE([[maybe_unused]] const Arguments arguments, evaluate_arguments(call));
      return fails("Helper not found " + *word);
    }
    Path path{.from_root = false, .up = 0, .segments = {}, .text = *word};
    if (*word != "this") path.segments.push_back(*word);
    TIPHYS_TAKE(const std::optional<Value> value, find(path, root_, scopes_));
    if (!value)
      return fails(concat("Failed to access variable in strict mode Some(", quoted(*word), ")"));
    return write(*value);
  }
  TIPHYS_TAKE(const Argument argument, evaluate(std::get<Parameter>(call.name)));
  if (!argument.value)
    return fails(
        concat("Failed to access variable in strict mode Some(", quoted(*argument.path), ")"));
  return write(*argument.value);
}

Done Renderer::block(const Block& block) {
  const auto* word = std::get_if<std::string>(&block.call.name);
  const std::string name = word != nullptr ? *word : name_text(block.call);
  const Helper* helper = find_helper(name);
  TIPHYS_TAKE(const Arguments arguments, evaluate_arguments(block.call));
  if (helper == nullptr) return fails("Helper not found " + name);
  const HelperCall call{name, arguments, &block};
  TIPHYS_TAKE(const std::optional<Value> value, (this->*helper->function)(call));
  if (!value) return {};
  if (helper->is_condition) return *value->boolean() ? body(call) : inverse(call);
  return write(*value);
}

Done Renderer::write(const Value& value) {
  if (const auto* text = value.string()) return out_.write(*text);
  std::string text;
  if (!append_text(value, text, budget_.output_left()))
    return budget_.spend_output(text.size() + 1);
  return out_.write(text);
}

Done Renderer::in_scope(const Template& part, Scope scope) {
  scopes_.push_back(std::move(scope));
  auto done = elements(part);
  scopes_.pop_back();
  return done;
}

Outcome<Argument> Renderer::evaluate(const Parameter& parameter) {
  return match(
      parameter,
      [&](const Path& path) -> Outcome<Argument> {
        TIPHYS_DONE(budget_.spend_steps(1 + path.segments.size()));
        TIPHYS_TAKE(auto value, find(path, root_, scopes_));
        return Argument{path.text, std::move(value)};
      },
      [&](const Variable& variable) -> Outcome<Argument> {
        return Argument{variable.text, find(variable, scopes_)};
      },
      [&](const Value& literal) -> Outcome<Argument> { return Argument{std::nullopt, literal}; },
      [&](const std::unique_ptr<Call>& call) -> Outcome<Argument> {
        TIPHYS_TAKE(Value value, value_of_call(*call));
        return Argument{std::nullopt, std::move(value)};
      });
}

Outcome<Arguments> Renderer::evaluate_arguments(const Call& call) {
  Arguments arguments;
  arguments.list.reserve(call.parameters.size());
  for (const Parameter& parameter : call.parameters) {
    TIPHYS_TAKE(Argument argument, evaluate(parameter));
    arguments.list.push_back(std::move(argument));
  }
  for (const auto& [key, parameter] : call.hash) {
    TIPHYS_TAKE(Argument argument, evaluate(parameter));
    arguments.hash.insert_or_assign(key, std::move(argument));
  }
  return arguments;
}

Outcome<Value> Renderer::value_of_call(const Call& call) {
  Value result;
  TIPHYS_DONE(nested([&]() -> Done {
    TIPHYS_TAKE(const Arguments arguments, evaluate_arguments(call));
    const auto* word = std::get_if<std::string>(&call.name);
    const Helper* helper = word == nullptr ? nullptr : find_helper(*word);
    if (helper == nullptr) return fails("Helper not found " + name_text(call));
    TIPHYS_TAKE(std::optional<Value> value, (this->*helper->function)({*word, arguments, nullptr}));
    // A helper that writes has nothing to write without a block.
    result = value ? std::move(*value) : Value(std::string());
    return {};
  }));
  return result;
}

}  // namespace tiphys::handlebars
