#include "tokens/chat/template.h"

#include <algorithm>

#include "base/check.h"
#include "tokens/chat/parser.h"
#include "tokens/chat/python_text.h"
#include "tokens/chat/renderer.h"

namespace megalith::chat {

static bool holds_generation(const Statements& body) {
  return std::ranges::any_of(body, [](const Statement& s) {
    return s.kind == Statement::Kind::generation || holds_generation(s.body) || holds_generation(s.otherwise);
  });
}

using Names = std::set<std::string, std::less<>>;

static void collect(const Expression* e, Names& names) {
  if (!e) return;
  names.insert(e->text);
  if (e->value.string()) names.insert(*e->value.string());
  for (const ExpressionPtr& part : e->parts) collect(part.get(), names);
  for (const auto& [_, value] : e->named) collect(value.get(), names);
}

static void collect(const Statements& body, Names& names) {
  for (const Statement& s : body) {
    collect(s.value.get(), names);
    collect(s.condition.get(), names);
    for (const ExpressionPtr& value : s.defaults) collect(value.get(), names);
    collect(s.body, names);
    collect(s.otherwise, names);
  }
}

// Escapes a message that may quote the template or its data.
static std::string one_line(std::string_view text) {
  return replace_all(replace_all(text.substr(0, 400), "\r", " "), "\n", " ");
}

Template::Template(std::string_view source, std::string where) : where_(std::move(where)) {
  try {
    body_ = parse_template(source);
  } catch (const Error& e) {
    fail("{}: {}", where_, one_line(e.what()));
  }
  has_generation_ = holds_generation(body_);
  collect(body_, names_);
}

Rendered Template::render(const Dict& variables) const {
  Renderer renderer(variables);
  try {
    return renderer.run(body_);
  } catch (const Error& e) {
    fail("{}: line {}: {}", where_, renderer.line(), one_line(e.what()));
  }
}

}  // namespace megalith::chat
