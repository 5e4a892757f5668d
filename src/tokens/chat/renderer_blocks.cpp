// Blocks with a body: macros, calls with a body, filters, local variables.
#include <algorithm>

#include "tokens/chat/builtins.h"
#include "tokens/chat/renderer.h"

namespace megalith::chat {

std::string Renderer::captured(const Statements& body, Scope& scope) {
  std::string outside = std::exchange(out_.text, {});
  run(body, scope);
  return std::exchange(out_.text, std::move(outside));
}

// It sees the variables around its definition, with their values at the call.
Function Renderer::body_as_function(const Statement& s, std::string_view name, Scope& scope) {
  kept_.push_back(scope.shared_from_this());
  return [this, &s, name = std::string(name), around = &scope](Call& c) { return call_macro(s, name, *around, c); };
}

void Renderer::define_macro(const Statement& s, Scope& scope) { scope.set(s.text, body_as_function(s, s.text, scope)); }

Value Renderer::call_macro(const Statement& s, std::string_view name, Scope& around, Call& c) {
  if (!s.more_values) c.at_most(s.names.size());
  const ScopePtr inner = around.inner();
  Dict others;
  inner->set("caller", Undefined{"caller"});
  for (const auto& [key, value] : c.named) {
    if (std::ranges::find(s.names, key) != s.names.end()) continue;
    check(s.more_names || (key == "caller" && s.takes_caller), "the macro {} has no argument {}", name, key);
    key == "caller" ? inner->set(key, value) : others.set(key, value);
  }
  const size_t needed = s.names.size() - s.defaults.size();
  for (size_t k = 0; k < s.names.size(); ++k) {
    const Value* given = c.find(k, s.names[k]);
    if (given)
      inner->set(s.names[k], *given);
    else if (k >= needed)
      inner->set(s.names[k], evaluate(*s.defaults[k - needed], *inner));
    else
      inner->set(s.names[k], Undefined{s.names[k]});
  }
  if (s.more_values) {
    const size_t taken = std::min(s.names.size(), c.arguments.size());
    inner->set("varargs", Value::tuple({c.arguments.begin() + std::ptrdiff_t(taken), c.arguments.end()}));
  }
  if (s.more_names) inner->set("kwargs", std::move(others));
  const int line = line_;
  Value text = captured(s.body, *inner);
  line_ = line;
  return text;
}

void Renderer::call_block(const Statement& s, Scope& scope) {
  const Function caller = body_as_function(s, "caller", scope);
  write(to_text(call(*s.value, scope, &caller)));
}

// The values are evaluated in the outer scope.
Renderer::Flow Renderer::with(const Statement& s, Scope& scope) {
  const ScopePtr inner = scope.inner();
  for (size_t k = 0; k < s.names.size(); ++k) inner->set(s.names[k], evaluate(*s.defaults[k], scope));
  return run(s.body, *inner);
}

std::string Renderer::filtered(const Statement& s, Scope& scope) {
  const ScopePtr inner = scope.inner();
  inner->set(kBody, captured(s.body, *scope.inner()));
  return to_text(evaluate(*s.value, *inner));
}

// Its variables are local, as in a call.
void Renderer::generation(const Statement& s, Scope& scope) {
  const size_t begin = out_.text.size();
  run(s.body, *scope.inner());
  out_.generations.emplace_back(begin, out_.text.size());
}

}  // namespace megalith::chat
