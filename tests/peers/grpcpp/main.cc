#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "peer.h"

namespace peer {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failed(1, path + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i % 251);
  return bytes;
}

namespace {

Options parse(const std::vector<std::string>& words, const std::string& flag) {
  const std::set<std::string> known{flag, "--ca", "--cert", "--key", "--server-name"};
  Options options;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (known.contains(words[i])) {
      if (i + 1 == words.size()) throw Failed(2, words[i] + ": a value is missing");
      options.values[words[i]] = words[i + 1];
      ++i;
    } else if (words[i].starts_with("-")) {
      throw Failed(2, "unknown option " + words[i]);
    } else {
      options.rest.push_back(words[i]);
    }
  }
  const std::string address = options.values[flag];
  options.transport = address.substr(0, address.find(':'));
  if (options.transport == "tcp" && address.size() > 4)
    options.target = address.substr(4);
  else if (options.transport == "unix" && address.size() > 5)
    options.target = address;
  else
    throw Failed(2, flag + ": expected tcp:HOST:PORT or unix:PATH, got '" + address + "'");
  const auto tls =
      options.values.count("--ca") + options.values.count("--cert") + options.values.count("--key");
  if (tls != 0 && tls != 3) throw Failed(2, "--ca, --cert and --key belong together");
  return options;
}

int run(const std::vector<std::string>& words) {
  const std::string command = words.empty() ? "" : words[0];
  if (command == "cases") {
    for (const auto& name : case_names()) std::cout << name << '\n';
    return 0;
  }
  if (command == "serve") return serve(parse(words, "--listen"));
  if (command == "call") return call(parse(words, "--connect"));
  throw Failed(2, "unknown command '" + command + "': expected cases, serve or call");
}

}  // namespace
}  // namespace peer

int main(int argc, char** argv) {
  try {
    return peer::run({argv + 1, argv + argc});
  } catch (const peer::Failed& failed) {
    std::cerr << "grpcpp-peer: " << failed.what() << '\n';
    return failed.code;
  }
}
