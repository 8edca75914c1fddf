#pragma once

// A string with an identity: a Named<AgentNameTag> never fits where a Named<WorkloadNameTag>
// belongs. It promises nothing about its content; the parse functions of model/ hand out only
// well-formed ones.

#include <compare>
#include <string>

namespace tiphys {

template <class Tag>
struct Named {
  std::string value;

  [[nodiscard]] bool empty() const { return value.empty(); }
  friend auto operator<=>(const Named&, const Named&) = default;
  friend bool operator==(const Named&, const Named&) = default;
};

template <class Tag>
const std::string& to_string(const Named<Tag>& name) {
  return name.value;
}

}  // namespace tiphys
