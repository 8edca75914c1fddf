// What the two halves of grpcpp-peer share; ../README.md describes the words it understands.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace peer {

inline constexpr int kMaxMessage = 32 << 20;

// The words, or the files that they name, are wrong; ends the program with a code.
struct Failed : std::runtime_error {
  Failed(int exit_code, const std::string& text) : std::runtime_error(text), code(exit_code) {}
  int code;
};

struct Options {
  std::string transport;  // tcp or unix
  std::string target;     // as gRPC takes it
  std::map<std::string, std::string> values;
  std::vector<std::string> rest;

  bool secure() const { return values.contains("--ca"); }
};

std::string read_file(const std::string& path);
std::string pattern(std::size_t size);

int serve(const Options& options);
int call(const Options& options);
std::vector<std::string> case_names();

}  // namespace peer
