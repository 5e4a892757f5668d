// A chat template: the Jinja that templates of chat models are written in, as transformers runs it (trim_blocks,
// lstrip_blocks, loop controls, {% generation %}, tojson without escapes).
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

// Immutable, so any number of threads may render.
class Template {
 public:
  // `where`: the file or name, for errors. Fails on what is not understood: "WHERE: line N: ..".
  Template(std::string_view source, std::string where);

  // Renders with these variables. Fails with one line, also where the template runs in circles: it may take
  // about a tenth of a second and more with the size of the variables, nest 1500 steps and write 64 MiB.
  Rendered render(const Dict& variables) const;

  bool has_name(std::string_view name) const { return names_.contains(name); }  // as a name or a text, somewhere
  bool has_generation() const { return has_generation_; }                       // {% generation %} stands somewhere
  const std::string& where() const { return where_; }

 private:
  Statements body_;
  std::string where_;
  std::set<std::string, std::less<>> names_;
  bool has_generation_ = false;
};

}  // namespace megalith::chat
