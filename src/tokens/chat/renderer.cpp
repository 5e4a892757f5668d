#include "tokens/chat/renderer.h"

#include <algorithm>

#include "tokens/chat/builtins.h"
#include "tokens/chat/python_text.h"

namespace megalith::chat {

namespace {

// What {{ loop }} is within a loop.
Dict loop_values(const List& items, size_t i) {
  const i64 n = i64(items.size()), at = i64(i);
  Dict loop;
  loop.items = {{"index", at + 1}, {"index0", at},        {"revindex", n - at}, {"revindex0", n - at - 1},
                {"first", i == 0}, {"last", at + 1 == n}, {"length", n}};
  loop.set("previtem", i > 0 ? items[i - 1] : Value(Undefined{"loop.previtem"}));
  loop.set("nextitem", i + 1 < items.size() ? items[i + 1] : Value(Undefined{"loop.nextitem"}));
  loop.set("cycle", Function([i](Call& c) -> Value {
             check(!c.arguments.empty(), "loop.cycle needs values");
             return c.arguments[i % c.arguments.size()];
           }));
  return loop;
}

void assign(const std::vector<std::string>& names, const Value& value, Scope& scope) {
  if (names.size() == 1) return scope.set(names[0], value);
  const List parts = items_of(value);
  check(parts.size() == names.size(), "{} values for {} names", parts.size(), names.size());
  for (size_t k = 0; k < names.size(); ++k) scope.set(names[k], parts[k]);
}

}  // namespace

// About the bytes that a value takes.
static i64 bytes_of(const Value& v) {
  i64 bytes = 16;
  if (v.string()) bytes += i64(v.string()->size());
  if (v.list())
    for (const Value& item : *v.list()) bytes += bytes_of(item);
  if (v.dict())
    for (const auto& [key, value] : v.dict()->items) bytes += i64(key.size()) + bytes_of(value);
  return bytes;
}

Renderer::Renderer(const Dict& variables) : budget_(bytes_of(Value(variables))), globals_(nullptr), root_(&globals_) {
  for (auto& [name, f] : global_functions().items) globals_.set(name, f);
  for (const auto& [name, value] : variables.items) globals_.set(name, value);
}

Rendered Renderer::run(const Statements& body) {
  run(body, root_);
  return std::move(out_);
}

void Renderer::write(std::string_view text) {
  budget_.spend(i64(text.size()));
  check_size(out_.text.size() + text.size());
  out_.text += text;
}

Renderer::Flow Renderer::run(const Statements& body, Scope& scope) {
  for (const Statement& s : body)
    if (const Flow flow = run(s, scope); flow != Flow::on) return flow;
  return Flow::on;
}

Renderer::Flow Renderer::run(const Statement& s, Scope& scope) {
  const Level level(*this, s.line);
  switch (s.kind) {
    case Statement::Kind::text:
      write(s.text);
      return Flow::on;
    case Statement::Kind::print:
      write(to_text(evaluate(*s.value, scope)));
      return Flow::on;
    case Statement::Kind::condition:
      return run(evaluate(*s.value, scope).truth() ? s.body : s.otherwise, scope);
    case Statement::Kind::loop:
      return loop(s, scope);
    case Statement::Kind::set:
      set(s, scope);
      return Flow::on;
    case Statement::Kind::capture: {
      Scope inner(&scope);
      scope.set(s.names[0], captured(s.body, inner));
      return Flow::on;
    }
    case Statement::Kind::macro:
      define_macro(s, scope);
      return Flow::on;
    case Statement::Kind::generation:
      generation(s, scope);
      return Flow::on;
    case Statement::Kind::leave:
      return Flow::leave;
    case Statement::Kind::next_item:
      return Flow::next_item;
  }
  return Flow::on;
}

Renderer::Flow Renderer::loop(const Statement& s, Scope& scope) {
  const Value over = evaluate(*s.value, scope);
  List items = items_of(over);
  budget_.spend_steps(i64(items.size()));
  if (s.condition) {
    std::erase_if(items, [&](const Value& item) {
      Scope inner(&scope);
      assign(s.names, item, inner);
      return !evaluate(*s.condition, inner).truth();
    });
  }
  for (size_t i = 0; i < items.size(); ++i) {
    budget_.spend_steps(Budget::kTurn);
    Scope inner(&scope);
    inner.set("loop", loop_values(items, i));
    assign(s.names, items[i], inner);
    if (run(s.body, inner) == Flow::leave) break;
  }
  return items.empty() ? run(s.otherwise, scope) : Flow::on;
}

void Renderer::set(const Statement& s, Scope& scope) {
  Value value = evaluate(*s.value, scope);
  if (s.text.empty()) return assign(s.names, value, scope);
  const Value* target = scope.find(s.names[0]);
  const auto* space = target ? target->as<Value::Namespace>() : nullptr;
  check(space != nullptr, "{} is no namespace(): only its attributes can be set", s.names[0]);
  check(!value.holds_namespace(), "{}.{}: a namespace cannot hold a namespace", s.names[0], s.text);
  space->values->set(s.text, std::move(value));
}

std::string Renderer::captured(const Statements& body, Scope& scope) {
  std::string outside = std::exchange(out_.text, {});
  run(body, scope);
  return std::exchange(out_.text, std::move(outside));
}

void Renderer::define_macro(const Statement& s, Scope& scope) {
  scope.set(s.text, Function([this, &s](Call& c) { return call_macro(s, c); }));
}

Value Renderer::call_macro(const Statement& s, Call& c) {
  c.at_most(s.names.size());
  for (const auto& [name, _] : c.named)
    check(std::ranges::find(s.names, name) != s.names.end(), "the macro {} has no argument {}", s.text, name);
  Scope inner(&root_);
  const size_t needed = s.names.size() - s.defaults.size();
  for (size_t k = 0; k < s.names.size(); ++k) {
    const Value* given = c.find(k, s.names[k]);
    if (given)
      inner.set(s.names[k], *given);
    else if (k >= needed)
      inner.set(s.names[k], evaluate(*s.defaults[k - needed], inner));
    else
      inner.set(s.names[k], Undefined{s.names[k]});
  }
  const int line = line_;
  Value text = captured(s.body, inner);
  line_ = line;
  return text;
}

// Its variables are its own, as if it were called.
void Renderer::generation(const Statement& s, Scope& scope) {
  Scope inner(&scope);
  const size_t begin = out_.text.size();
  run(s.body, inner);
  out_.generations.emplace_back(begin, out_.text.size());
}

}  // namespace megalith::chat
