// Renders templates with our engine, in the same way as the program in reference/ does with the Rust crate: one JSON object
// {"template": text, "context": map} a line in, one {"text": …, "log": [[level, text], …]} or {"error": …} a line out.

#include <iostream>
#include <string>
#include <utility>

#include "text/handlebars/handlebars.h"
#include "text/json.h"

namespace {

using tiphys::Tree;

Tree answer(const Tree& request) {
  const auto rendered =
      tiphys::handlebars::render(*request.child("template")->string(), *request.child("context"));
  if (!rendered) return Tree::Map().set("error", rendered.error().message);
  Tree::List lines;
  for (const auto& [level, text] : rendered->log) lines.emplace_back(Tree::List{level, text});
  return Tree::Map().set("text", rendered->text).set("log", std::move(lines));
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto request = tiphys::parse_json(line);
    if (!request) {
      std::cerr << tiphys::to_string(request.error()) << "\n";
      return 1;
    }
    std::cout << tiphys::write_json(answer(*request)) << "\n";
  }
}
