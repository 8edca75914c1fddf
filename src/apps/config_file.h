#pragma once

// The config files of server and agent: TOML whose keys have a type and a meaning, and whose unknown keys are left alone.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/arguments.h"
#include "io/link/security.h"
#include "model/tree.h"

namespace tiphys::apps {

class ConfigFile {
 public:
  // Nothing is set in it.
  ConfigFile() = default;

  // The file that was asked for has to be there; the default one need not.
  static OrStop<ConfigFile> load(const std::optional<std::string>& asked_for,
                                 const std::string& by_default);
  static OrStop<ConfigFile> parse(std::string_view text, std::string path);

  [[nodiscard]] OrStop<std::optional<std::string>> string(std::string_view key) const;
  [[nodiscard]] OrStop<std::optional<bool>> boolean(std::string_view key) const;
  [[nodiscard]] OrStop<std::optional<std::vector<std::string>>> strings(std::string_view key) const;
  [[nodiscard]] OrStop<std::optional<std::map<std::string, std::string>>> table(
      std::string_view key) const;
  // A list of tables, [[key]]: each as a file of its own, whose errors name the place. Empty when there is none.
  [[nodiscard]] OrStop<std::vector<ConfigFile>> tables(std::string_view key) const;
  [[nodiscard]] OrStop<std::optional<std::uint64_t>> number(std::string_view key,
                                                            std::uint64_t highest) const;
  [[nodiscard]] bool has(std::string_view key) const { return root_.child(key).has_value(); }

  // What is wrong with the file, in the words of stock Ankaios.
  [[nodiscard]] tl::unexpected<Stop> refuse(std::string_view offence) const;

 private:
  [[nodiscard]] tl::unexpected<Stop> wrong_type(std::string_view key, std::string_view expected,
                                                const Tree& found) const;

  std::string path_;
  std::string place_;  // of a table within the file
  Tree root_ = Tree::Map();
};

// --insecure and the three PEMs: what was given on the command line or in the environment, else what the file says.
OrStop<link::SecurityOptions> read_security(const Arguments& arguments, const ConfigFile& file);

}  // namespace tiphys::apps
