#pragma once

// Writes a man page in the language of man(7).
//
// Texts are plain: `code` in backquotes becomes bold, everything else is shown as it is, whatever it means in roff.

#include <string>
#include <string_view>

namespace tiphys::apps {

class Roff {
 public:
  struct Title {
    std::string_view name;  // ank-get-workload
    int section = 1;
    std::string_view date;     // 2026-01-31
    std::string_view version;  // of the programs
  };
  explicit Roff(const Title& title);

  Roff& section(std::string_view heading);  // in capitals
  // The line that apropos(1) reads.
  Roff& name(std::string_view name, std::string_view summary);
  Roff& subsection(std::string_view heading);
  // Paragraphs are divided by empty lines.
  Roff& text(std::string_view paragraphs);
  // A term, all of it bold, and what is to be said about it.
  Roff& entry(std::string_view term, std::string_view paragraphs);
  // Line by line as it is.
  Roff& example(std::string_view text);
  // How a command is called: its name, and what follows in plain letters.
  Roff& command(std::string_view name, std::string_view plain);

  [[nodiscard]] const std::string& page() const { return text_; }

 private:
  void macro(std::string_view text);
  void lines(std::string_view roff);

  std::string text_;
  bool is_at_heading_ = false;  // where a paragraph needs no macro
};

}  // namespace tiphys::apps
