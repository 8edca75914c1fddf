#pragma once

// Where names in a template are looked up: the contexts of the blocks around it, innermost last.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "text/handlebars/ast.h"
#include "text/handlebars/failure.h"
#include "text/handlebars/value.h"

namespace tiphys::handlebars {

struct Scope {
  Value context;                                // what `this` is
  std::map<std::string, Value> names = {};      // as |name|
  std::map<std::string, Value> variables = {};  // @index without the @
};

using Scopes = std::vector<Scope>;

// The value at a path, or nothing where there is none. A failure where a list is asked for a name.
Outcome<std::optional<Value>> find(const Path& path, const Value& root, const Scopes& scopes);
std::optional<Value> find(const Variable& variable, const Scopes& scopes);

}  // namespace tiphys::handlebars
