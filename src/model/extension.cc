#include "model/extension.h"

#include <array>

namespace tiphys {

std::string_view to_string(Fate fate) {
  constexpr std::array<std::string_view, 5> kNames{"created", "replaced", "updated", "deleted",
                                                   "unchanged"};
  return kNames[static_cast<std::size_t>(fate)];
}

}  // namespace tiphys
