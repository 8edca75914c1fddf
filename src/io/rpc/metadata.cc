#include "io/rpc/metadata.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace tiphys::rpc {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool is_binary(std::string_view name) { return name.ends_with("-bin"); }

bool is_reserved(std::string_view name) {
  constexpr std::array<std::string_view, 6> kReserved = {"te",         "content-type", "user-agent",
                                                         "connection", "host",         "date"};
  return name.starts_with(':') || name.starts_with("grpc-") ||
         std::ranges::find(kReserved, name) != kReserved.end();
}

bool is_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

bool is_text(std::string_view value) {
  return std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; });
}

std::string base64(std::string_view bytes) {
  std::string encoded;
  encoded.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (held += 8; held >= 6; held -= 6) encoded += kAlphabet[bits >> (held - 6) & 63];
  }
  if (held > 0) encoded += kAlphabet[bits << (6 - held) & 63];
  return encoded;
}

// Padded or not.
std::optional<std::string> base64_decode(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char character : text) {
    const auto value = kAlphabet.find(character);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes += static_cast<char>(bits >> held & 0xFF);
    }
  }
  return bytes;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// Several values may stand in one field, joined by commas, which base64 does not use.
void add_binary(Metadata& metadata, std::string_view name, std::string_view joined) {
  for (;;) {
    const auto comma = joined.find(',');
    if (auto value = base64_decode(trimmed(joined.substr(0, comma))))
      metadata.emplace_back(name, std::move(*value));
    if (comma == std::string_view::npos) return;
    joined.remove_prefix(comma + 1);
  }
}

Status check_entry(std::string_view name, std::string_view value) {
  if (!is_name(name))
    return fail(Code::kInvalidArgument,
                "metadata '" + std::string(name) + "': a name has a-z, 0-9, '-', '_' and '.' only");
  if (is_reserved(name))
    return fail(Code::kInvalidArgument,
                "metadata '" + std::string(name) + "': the name is reserved");
  if (!is_binary(name) && !is_text(value))
    return fail(Code::kInvalidArgument,
                "metadata '" + std::string(name) +
                    "': the value is not printable ASCII; end the name in '-bin' for bytes");
  return {};
}

}  // namespace

Status check(const Metadata& metadata) {
  for (const auto& [name, value] : metadata) TIPHYS_REQUIRE(check_entry(name, value));
  return {};
}

void append(Fields& fields, const Metadata& metadata) {
  for (const auto& [name, value] : metadata)
    if (check_entry(name, value)) fields.add(name, is_binary(name) ? base64(value) : value);
}

Metadata metadata_of(const Fields& fields) {
  Metadata metadata;
  for (const Field& field : fields) {
    if (is_reserved(field.name)) continue;
    if (is_binary(field.name)) {
      add_binary(metadata, field.name, field.value);
    } else {
      metadata.emplace_back(field.name, field.value);
    }
  }
  return metadata;
}

}  // namespace tiphys::rpc
