// The helpers: {{#if}}, {{#each}} and the like. There are no others.

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "text/handlebars/debug_text.h"
#include "text/handlebars/renderer.h"

namespace tiphys::handlebars {

namespace {

tl::unexpected<Failure> missing_value(const Argument& argument) {
  const std::string path = argument.path ? concat("Some(", quoted(*argument.path), ")") : "None";
  return fails("Failed to access variable in strict mode " + path);
}

// What compares texts looks at each byte of them.
std::size_t cost_of(const Value& value) {
  constexpr std::size_t kBytesPerStep = 64;
  return value.string() == nullptr ? 1 : 1 + value.string()->size() / kBytesPerStep;
}

}  // namespace

const Renderer::Helper* Renderer::find_helper(std::string_view name) {
  static constexpr auto kHelpers = std::to_array<Helper>({
      {"if", &Renderer::if_},
      {"unless", &Renderer::unless},
      {"each", &Renderer::each},
      {"with", &Renderer::with},
      {"lookup", &Renderer::lookup},
      {"raw", &Renderer::raw},
      {"log", &Renderer::log},
      {"len", &Renderer::len},
      {"eq", &Renderer::eq, true},
      {"ne", &Renderer::ne, true},
      {"gt", &Renderer::gt, true},
      {"gte", &Renderer::gte, true},
      {"lt", &Renderer::lt, true},
      {"lte", &Renderer::lte, true},
      {"and", &Renderer::and_, true},
      {"or", &Renderer::or_, true},
      {"not", &Renderer::not_, true},
  });
  const auto* found = std::ranges::find(kHelpers, name, &Helper::name);
  return found == kHelpers.end() ? nullptr : found;
}

// --- what helpers share ---

// So many parameters must be given, even if they have no value.
Done Renderer::given(const HelperCall& call, std::size_t count) {
  const std::size_t given = call.arguments.list.size();
  if (given >= count) return {};
  return fails(concat("Helper/Decorator ", call.name == "unless" ? "if" : call.name,
                      " param at index ", std::to_string(given), " required but not found"));
}

// The value of a parameter that must have one.
Outcome<Value> Renderer::required(const HelperCall& call, std::size_t index) {
  if (index < call.arguments.list.size() && call.arguments.list[index].value)
    return *call.arguments.list[index].value;
  return fails(concat("Helper/Decorator ", call.name, " param at index ", std::to_string(index),
                      " required but not found"));
}

Done Renderer::body(const HelperCall& call) {
  return call.block == nullptr ? Done{} : elements(*call.block->body);
}

Done Renderer::inverse(const HelperCall& call) {
  const bool there = call.block != nullptr && call.block->inverse != nullptr;
  return there ? elements(*call.block->inverse) : Done{};
}

// --- blocks ---

Renderer::HelperResult Renderer::condition(const HelperCall& call, bool wanted) {
  TIPHYS_DONE(given(call, 1));
  const auto& value = call.arguments.list[0].value;
  const auto option = call.arguments.hash.find("includeZero");
  const bool include_zero = option != call.arguments.hash.end() && option->second.value &&
                            option->second.value->boolean() != nullptr &&
                            *option->second.value->boolean();
  const bool holds = value && is_truthy(*value, include_zero);
  TIPHYS_DONE(holds == wanted ? body(call) : inverse(call));
  return std::nullopt;
}

Renderer::HelperResult Renderer::if_(const HelperCall& call) { return condition(call, true); }
Renderer::HelperResult Renderer::unless(const HelperCall& call) { return condition(call, false); }

Renderer::HelperResult Renderer::each(const HelperCall& call) {
  TIPHYS_DONE(given(call, 1));
  if (call.block == nullptr) return std::nullopt;
  const Argument& argument = call.arguments.list[0];
  const Value value = argument.value.value_or(Value());
  if (value.list() == nullptr && value.map() == nullptr) {
    if (call.block->inverse == nullptr) return missing_value(argument);
    TIPHYS_DONE(inverse(call));
    return std::nullopt;
  }
  if (!is_truthy(value)) TIPHYS_DONE(inverse(call));
  std::size_t index = 0;
  if (const auto* list = value.list()) {
    for (const Value& item : *list) {
      TIPHYS_DONE(iterate(call, item, index, list->size(), nullptr));
      ++index;
    }
  }
  if (const auto* map = value.map()) {
    for (const auto& [key, item] : *map) {
      TIPHYS_DONE(iterate(call, item, index, map->size(), &key));
      ++index;
    }
  }
  return std::nullopt;
}

Done Renderer::iterate(const HelperCall& call, const Value& item, std::size_t index,
                       std::size_t count, const std::string* key) {
  TIPHYS_DONE(budget_.spend_steps(1));
  const Value number{Number(static_cast<std::uint64_t>(index))};
  const Value place = key == nullptr ? number : Value(*key);
  Scope scope{.context = item};
  scope.variables = {
      {"first", Value(index == 0)}, {"last", Value(index + 1 == count)}, {"index", number}};
  if (key != nullptr) scope.variables["key"] = place;
  if (const auto& names = call.block->names) {
    scope.names[names->first] = item;
    if (names->second) scope.names[*names->second] = place;
  }
  return in_scope(*call.block->body, std::move(scope));
}

Renderer::HelperResult Renderer::with(const HelperCall& call) {
  TIPHYS_DONE(given(call, 1));
  const Argument& argument = call.arguments.list[0];
  if (!argument.value || !is_truthy(*argument.value)) {
    if (call.block == nullptr || call.block->inverse == nullptr) return missing_value(argument);
    TIPHYS_DONE(inverse(call));
    return std::nullopt;
  }
  if (call.block == nullptr) return std::nullopt;
  Scope scope{.context = *argument.value};
  if (const auto& names = call.block->names; names && !names->second)
    scope.names[names->first] = *argument.value;
  TIPHYS_DONE(in_scope(*call.block->body, std::move(scope)));
  return std::nullopt;
}

Renderer::HelperResult Renderer::raw(const HelperCall& call) {
  TIPHYS_DONE(body(call));
  return std::nullopt;
}

// --- values ---

Renderer::HelperResult Renderer::lookup(const HelperCall& call) {
  TIPHYS_DONE(given(call, 2));
  const Value container = call.arguments.list[0].value.value_or(Value());
  const Value key = call.arguments.list[1].value.value_or(Value());
  if (const auto* list = container.list()) {
    const auto* number = key.number();
    const auto* index = number == nullptr ? nullptr : std::get_if<std::uint64_t>(number);
    if (index != nullptr && *index < list->size()) return (*list)[*index];
  } else if (const auto* map = container.map(); map != nullptr && key.string() != nullptr) {
    if (const auto entry = map->find(*key.string()); entry != map->end()) return entry->second;
  }
  return fails("Failed to access variable in strict mode None");
}

Renderer::HelperResult Renderer::eq(const HelperCall& call) {
  TIPHYS_TAKE(const Value a, required(call, 0));
  TIPHYS_TAKE(const Value b, required(call, 1));
  std::size_t steps = cost_of(a);
  const bool same = equal(a, b, steps, budget_.steps_left());
  TIPHYS_DONE(budget_.spend_steps(steps));
  return Value(same);
}

Renderer::HelperResult Renderer::ne(const HelperCall& call) {
  TIPHYS_TAKE(const auto same, eq(call));
  return Value(!*same->boolean());
}

template <class Holds>
Renderer::HelperResult Renderer::ordered(const HelperCall& call, Holds holds) {
  TIPHYS_TAKE(const Value a, required(call, 0));
  TIPHYS_TAKE(const Value b, required(call, 1));
  TIPHYS_DONE(budget_.spend_steps(cost_of(a)));
  const auto order = compare(a, b);
  return Value(order && holds(*order));
}

Renderer::HelperResult Renderer::gt(const HelperCall& call) {
  return ordered(call, [](auto order) { return order > 0; });
}
Renderer::HelperResult Renderer::gte(const HelperCall& call) {
  return ordered(call, [](auto order) { return order >= 0; });
}
Renderer::HelperResult Renderer::lt(const HelperCall& call) {
  return ordered(call, [](auto order) { return order < 0; });
}
Renderer::HelperResult Renderer::lte(const HelperCall& call) {
  return ordered(call, [](auto order) { return order <= 0; });
}

Renderer::HelperResult Renderer::and_(const HelperCall& call) {
  return Value(std::ranges::all_of(call.arguments.list, [](const Argument& argument) {
    return argument.value && is_truthy(*argument.value);
  }));
}

Renderer::HelperResult Renderer::or_(const HelperCall& call) {
  return Value(std::ranges::any_of(call.arguments.list, [](const Argument& argument) {
    return argument.value && is_truthy(*argument.value);
  }));
}

Renderer::HelperResult Renderer::not_(const HelperCall& call) {
  TIPHYS_TAKE(const Value value, required(call, 0));
  return Value(!is_truthy(value));
}

Renderer::HelperResult Renderer::len(const HelperCall& call) {
  if (call.arguments.list.empty() || !call.arguments.list[0].value)
    return fails("Helper/Decorator len param with name x required but not found");
  const Value& value = *call.arguments.list[0].value;
  std::uint64_t length = 0;
  if (const auto* text = value.string()) length = text->size();
  if (const auto* list = value.list()) length = list->size();
  if (const auto* map = value.map()) length = map->size();
  return Value(Number(length));
}

// --- log ---

Renderer::HelperResult Renderer::log(const HelperCall& call) {
  std::string level = "info";
  if (const auto option = call.arguments.hash.find("level");
      option != call.arguments.hash.end() && option->second.value &&
      option->second.value->string() != nullptr)
    level = *option->second.value->string();
  std::string text;
  for (const Argument& argument : call.arguments.list) {
    if (&argument != call.arguments.list.data()) text += ", ";
    if (argument.path) text += *argument.path + ": ";
    if (argument.value && !append_text(*argument.value, text, budget_.output_left()))
      return fails(budget_.spend_output(text.size() + 1).error());
  }
  constexpr auto kLevels =
      std::to_array<std::string_view>({"error", "warn", "info", "debug", "trace"});
  std::string lower = level;
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  if (std::ranges::find(kLevels, lower) == kLevels.end())
    return fails("Invalid logging level: " + level);
  TIPHYS_DONE(budget_.spend_output(text.size()));
  TIPHYS_DONE(budget_.spend_steps(1));
  log_.push_back({std::move(lower), std::move(text)});
  return std::nullopt;
}

}  // namespace tiphys::handlebars
