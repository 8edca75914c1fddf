#include "apps/config_file.h"

#include <utility>

#include "base/strings.h"
#include "io/host/files.h"
#include "text/toml.h"

namespace tiphys::apps {
namespace {

constexpr std::string_view kContext = "Config file could not be parsed";
constexpr std::string_view kVersionKey = "version";
constexpr std::string_view kSupportedVersion = "v1";

tl::unexpected<Stop> unreadable(std::string_view detail) {
  return fatal(kContext, concat("Config file could not have been parsed due to: ", detail));
}

OrStop<link::Pem> read_pem(const Arguments& arguments, const ConfigFile& file,
                           const std::string& name) {
  auto path = file.string(name);
  if (!path) return tl::unexpected(std::move(path).error());
  auto content = file.string(name + "_content");
  if (!content) return tl::unexpected(std::move(content).error());
  if (*path && *content)
    return fatal(
        kContext,
        "Conflicting certificates: Certificate paths and certificate content are both set");
  if (auto given = arguments.value(name)) return link::Pem{.path = std::move(given)};
  return link::Pem{
      .path = std::move(*path), .content = std::move(*content), .path_of_config_file = true};
}

}  // namespace

OrStop<ConfigFile> ConfigFile::load(const std::optional<std::string>& asked_for,
                                    const std::string& by_default) {
  const std::string& path = asked_for ? *asked_for : by_default;
  const auto text = host::read_file(path, host::FileKind::kAny);
  if (!text && !asked_for && text.error().code == Code::kNotFound) return ConfigFile();
  if (!text) return unreadable(text.error().message);
  return parse(*text, path);
}

OrStop<ConfigFile> ConfigFile::parse(std::string_view text, std::string path) {
  auto root = parse_toml(text);
  if (!root) return unreadable(to_string(root.error(), path));
  ConfigFile file;
  file.path_ = std::move(path);
  file.root_ = std::move(*root);
  const auto version = file.string(kVersionKey);
  if (!version) return tl::unexpected(version.error());
  if (!*version) return file.refuse("missing field `version`; version = \"v1\" has to be there");
  if (**version != kSupportedVersion) return fatal(kContext, concat("Wrong version: ", **version));
  return file;
}

tl::unexpected<Stop> ConfigFile::refuse(std::string_view offence) const {
  return unreadable(concat(path_, ": ", place_, offence));
}

tl::unexpected<Stop> ConfigFile::wrong_type(std::string_view key, std::string_view expected,
                                            const Tree& found) const {
  return refuse(concat(key, ": expected ", expected, ", found ", found.kind()));
}

OrStop<std::optional<std::string>> ConfigFile::string(std::string_view key) const {
  const auto found = root_.child(key);
  if (!found) return std::nullopt;
  if (const auto* text = found->string()) return *text;
  return wrong_type(key, "a string", *found);
}

OrStop<std::optional<bool>> ConfigFile::boolean(std::string_view key) const {
  const auto found = root_.child(key);
  if (!found) return std::nullopt;
  if (const auto* value = found->boolean()) return *value;
  return wrong_type(key, "true or false", *found);
}

OrStop<std::optional<std::vector<std::string>>> ConfigFile::strings(std::string_view key) const {
  const auto found = root_.child(key);
  if (!found) return std::nullopt;
  const auto* list = found->list();
  if (list == nullptr) return wrong_type(key, "a list of strings", *found);
  std::vector<std::string> texts;
  for (const auto& item : *list) {
    const auto* text = item.string();
    if (text == nullptr) return wrong_type(key, "a list of strings", item);
    texts.push_back(*text);
  }
  return texts;
}

OrStop<std::optional<std::map<std::string, std::string>>> ConfigFile::table(
    std::string_view key) const {
  const auto found = root_.child(key);
  if (!found) return std::nullopt;
  if (!found->is_map()) return wrong_type(key, "a table of strings", *found);
  std::map<std::string, std::string> texts;
  std::optional<tl::unexpected<Stop>> refused;
  found->entries().for_each([&](const std::string& name, const Tree& value) {
    if (const auto* text = value.string())
      texts.emplace(name, *text);
    else if (!refused)
      refused = wrong_type(concat(key, ".", name), "a string", value);
  });
  if (refused) return *refused;
  return texts;
}

OrStop<std::vector<ConfigFile>> ConfigFile::tables(std::string_view key) const {
  std::vector<ConfigFile> found;
  const auto value = root_.child(key);
  if (!value) return found;
  const auto* list = value->list();
  if (list == nullptr) return wrong_type(key, concat("tables, each as [[", key, "]]"), *value);
  for (const auto& item : *list) {
    const std::string place = concat(key, "[", std::to_string(found.size()), "]");
    if (!item.is_map()) return wrong_type(place, "a table", item);
    ConfigFile table;
    table.path_ = path_;
    table.place_ = concat(place_, place, ".");
    table.root_ = item;
    found.push_back(std::move(table));
  }
  return found;
}

OrStop<std::optional<std::uint64_t>> ConfigFile::number(std::string_view key,
                                                        std::uint64_t highest) const {
  const auto found = root_.child(key);
  if (!found) return std::nullopt;
  const std::string expected = concat("a number from 0 to ", std::to_string(highest));
  const auto* value = found->number();
  if (value == nullptr) return wrong_type(key, expected, *found);
  if (*value > highest)
    return refuse(concat(key, ": expected ", expected, ", found ", std::to_string(*value)));
  return *value;
}

OrStop<link::SecurityOptions> read_security(const Arguments& arguments, const ConfigFile& file) {
  link::SecurityOptions security;
  const auto insecure = file.boolean("insecure");
  if (!insecure) return tl::unexpected(insecure.error());
  security.insecure = arguments.is_on("insecure").value_or(insecure->value_or(false));
  for (const auto& [name, place] : {std::pair{"ca_pem", &security.ca},
                                    {"crt_pem", &security.certificate},
                                    {"key_pem", &security.key}}) {
    auto pem = read_pem(arguments, file, name);
    if (!pem) return tl::unexpected(std::move(pem).error());
    *place = std::move(*pem);
  }
  return security;
}

}  // namespace tiphys::apps
