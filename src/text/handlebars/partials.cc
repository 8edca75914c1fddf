// Partials and the decorator that defines them.

#include "base/strings.h"
#include "text/handlebars/debug_text.h"
#include "text/handlebars/renderer.h"

namespace tiphys::handlebars {

namespace {

constexpr std::string_view kPartialBlock = "@partial-block";

// A context to which names can be added: lists and strings become maps by their indices.
Value::Map as_map(const Value& value) {
  Value::Map map;
  if (const auto* entries = value.map()) return *entries;
  if (const auto* list = value.list()) {
    for (std::size_t i = 0; i < list->size(); ++i) map.emplace(std::to_string(i), (*list)[i]);
  } else if (const auto* text = value.string()) {
    std::size_t index = 0;
    for (std::size_t begin = 0; begin < text->size();) {
      std::size_t end = begin + 1;
      while (end < text->size() && (static_cast<unsigned char>((*text)[end]) & 0xC0U) == 0x80U)
        ++end;
      map.emplace(std::to_string(index++), Value(text->substr(begin, end - begin)));
      begin = end;
    }
  }
  return map;
}

std::size_t entries_of(const Value& value) {
  if (const auto* map = value.map()) return map->size();
  if (const auto* list = value.list()) return list->size();
  if (const auto* text = value.string()) return text->size();
  return 0;
}

}  // namespace

Done Renderer::decorator(const Decorator& decorator) {
  const std::string name = name_text(decorator.call);
  if (name != "inline") return fails("Decorator not found " + name);
  TIPHYS_TAKE(const Arguments arguments, evaluate_arguments(decorator.call));
  if (arguments.list.empty())
    return fails("Helper/Decorator inline param at index 0 required but not found");
  const auto& value = arguments.list[0].value;
  if (!value || value->string() == nullptr) return fails("Invalid param type, String expected");
  if (decorator.body == nullptr) return fails("Block content required");
  partials_[*value->string()] = {decorator.body, template_name_};
  return {};
}

Outcome<std::string> Renderer::partial_name(const Call& call) {
  const auto* parameter = std::get_if<Parameter>(&call.name);
  if (parameter == nullptr || !std::holds_alternative<std::unique_ptr<Call>>(*parameter))
    return name_text(call);
  TIPHYS_TAKE(const Argument argument, evaluate(*parameter));
  std::string name;
  if (!append_text(*argument.value, name, budget_.output_left()))
    return fails(budget_.spend_output(name.size() + 1).error());
  return name;
}

// What `this` is in the partial: the first parameter or what it is here, with the named parameters added.
Outcome<Value> Renderer::partial_context(const Call& call) {
  TIPHYS_TAKE(const Arguments arguments, evaluate_arguments(call));
  Value context =
      arguments.list.empty() ? scopes_.back().context : arguments.list[0].value.value_or(Value());
  if (arguments.hash.empty()) return context;
  TIPHYS_DONE(budget_.spend_steps(entries_of(context)));
  Value::Map map = as_map(context);
  for (const auto& [key, argument] : arguments.hash)
    map.insert_or_assign(key, argument.value.value_or(Value()));
  return Value(std::move(map));
}

Done Renderer::render_partial(const Partial& partial, const NamedPartial& found) {
  TIPHYS_TAKE(Value context, partial_context(partial.call));
  Scopes outer = std::exchange(scopes_, Scopes{{std::move(context)}});
  std::string outer_name = std::exchange(template_name_, found.template_name);
  auto done = elements(*found.body);
  template_name_ = std::move(outer_name);
  scopes_ = std::move(outer);
  return done;
}

// [impl->swdd~config-renderer-supports-rendering-with-keeping-line-indent~1]
Done Renderer::partial(const Partial& partial) {
  TIPHYS_TAKE(const std::string name, partial_name(partial.call));
  if (name == kPartialBlock) {
    if (!partial_block_) return fails("Partial block cound not be found");
    return out_.write_unindented(*partial_block_);
  }
  const std::string outer_indent = out_.indentation();
  const bool first_line = partial.on_own_line && (!partial.indent.empty() || out_.is_due());
  out_.indent(outer_indent + partial.indent, first_line);
  auto done = named_partial(partial, name);
  out_.indent(outer_indent, out_.is_due());
  return done;
}

Done Renderer::named_partial(const Partial& partial, const std::string& name) {
  std::optional<std::string> block;
  if (partial.body != nullptr) {
    // Rendered where it stands, before the partial, which may use it or not.
    std::string before = out_.exchange();
    TIPHYS_DONE(elements(*partial.body));
    block = out_.exchange(std::move(before));
  }
  const auto entry = partials_.find(name);
  if (entry == partials_.end() && partial.body == nullptr)
    return fails("Partial not found " + name);
  const NamedPartial found =
      entry == partials_.end() ? NamedPartial{partial.body, template_name_} : entry->second;
  std::swap(partial_block_, block);
  auto done = render_partial(partial, found);
  std::swap(partial_block_, block);
  return done;
}

}  // namespace tiphys::handlebars
