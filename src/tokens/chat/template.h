// A chat template in Jinja, as transformers runs it (trim_blocks, lstrip_blocks, loop controls, {% generation %},
// tojson without escapes).
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokens/chat/syntax.h"
#include "tokens/chat/value.h"

namespace megalith::chat {

struct Rendered {
  std::string text;
  std::vector<std::pair<size_t, size_t>> generations;  // [begin, end) in bytes of each {% generation %}
};

// Immutable, so all threads may share it.
class Template {
 public:
  // `where`: the file or name, for errors. Fails on unsupported syntax: "WHERE: line N: ..".
  Template(std::string_view source, std::string where);

  // Renders with these variables. Fails with one line, also if the template exceeds its limits. It may take about a
  // tenth of a second, plus time for the variables' size. It may nest 1500 steps and write 64 MiB.
  Rendered render(const Dict& variables) const;

  bool has_name(std::string_view name) const { return names_.contains(name); }  // anywhere, as a name or a text
  bool has_generation() const { return has_generation_; }                       // whether there is a {% generation %}
  const std::string& where() const { return where_; }

 private:
  Statements body_;
  std::string where_;
  std::set<std::string, std::less<>> names_;
  bool has_generation_ = false;
};

}  // namespace megalith::chat
