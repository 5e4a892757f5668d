#include "tokens/chat/renderer.h"

#include <algorithm>
#include <optional>

#include "tokens/chat/builtins.h"
#include "tokens/chat/python_text.h"

namespace megalith::chat {

namespace {

// The value of {{ loop }} in a loop.
Dict loop_values(const List& items, size_t i, i64 depth) {
  const i64 n = i64(items.size()), at = i64(i);
  Dict loop;
  loop.items = {{"index", at + 1}, {"index0", at},        {"revindex", n - at}, {"revindex0", n - at - 1},
                {"first", i == 0}, {"last", at + 1 == n}, {"length", n}};
  loop.set("depth", depth + 1), loop.set("depth0", depth);
  loop.set("previtem", i > 0 ? items[i - 1] : Value(Undefined{"loop.previtem"}));
  loop.set("nextitem", i + 1 < items.size() ? items[i + 1] : Value(Undefined{"loop.nextitem"}));
  loop.set("cycle", Function([i](Call& c) -> Value {
             check(!c.arguments.empty(), "loop.cycle needs values");
             return c.arguments[i % c.arguments.size()];
           }));
  return loop;
}

// loop.changed(..): whether its arguments differ from those of the last call.
Function changed() {
  return [last = std::make_shared<std::optional<List>>()](Call& c) -> Value {
    const bool same = *last && equal(Value(**last), Value(c.arguments));
    *last = c.arguments;
    return !same;
  };
}

void assign(const std::vector<std::string>& names, const Value& value, Scope& scope) {
  if (names.size() == 1) return scope.set(names[0], value);
  const List parts = items_of(value);
  check(parts.size() == names.size(), "{} values for {} names", parts.size(), names.size());
  for (size_t k = 0; k < names.size(); ++k) scope.set(names[k], parts[k]);
}

}  // namespace

// The approximate bytes of a value.
static i64 bytes_of(const Value& v) {
  i64 bytes = 16;
  if (v.string()) bytes += i64(v.string()->size());
  if (v.list())
    for (const Value& item : *v.list()) bytes += bytes_of(item);
  if (v.dict())
    for (const auto& [key, value] : v.dict()->items) bytes += i64(key.size()) + bytes_of(value);
  return bytes;
}

Renderer::Renderer(const Dict& variables) : budget_(bytes_of(Value(variables))) {
  const auto globals = std::make_shared<Scope>(nullptr);
  for (auto& [name, f] : global_functions().items) globals->set(name, f);
  for (const auto& [name, value] : variables.items) globals->set(name, value);
  root_ = globals->inner();
}

Rendered Renderer::run(const Statements& body) {
  run(body, *root_);
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
    case Statement::Kind::capture:
      scope.set(s.names[0], s.value ? filtered(s, scope) : captured(s.body, *scope.inner()));
      return Flow::on;
    case Statement::Kind::macro:
      define_macro(s, scope);
      return Flow::on;
    case Statement::Kind::call:
      call_block(s, scope);
      return Flow::on;
    case Statement::Kind::with:
      return with(s, scope);
    case Statement::Kind::filtered:
      write(filtered(s, scope));
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
  return loop_over(s, evaluate(*s.value, scope), 0, scope);
}

Renderer::Flow Renderer::loop_over(const Statement& s, const Value& over, i64 depth, Scope& scope) {
  List items = items_of(over);
  budget_.spend_steps(i64(items.size()));
  if (s.condition) {
    std::erase_if(items, [&](const Value& item) {
      const ScopePtr inner = scope.inner();
      assign(s.names, item, *inner);
      return !evaluate(*s.condition, *inner).truth();
    });
  }
  const Function has_changed = changed();
  if (s.recursive) kept_.push_back(scope.shared_from_this());
  for (size_t i = 0; i < items.size(); ++i) {
    budget_.spend_steps(Budget::kTurn);
    const ScopePtr inner = scope.inner();
    Dict loop = loop_values(items, i, depth);
    loop.set("changed", has_changed);
    if (s.recursive) {
      loop.set(kCalled, Function([this, &s, &scope, depth](Call& c) -> Value {
                 std::string outside = std::exchange(out_.text, {});
                 loop_over(s, c.at(0, "iterable"), depth + 1, scope);
                 return std::exchange(out_.text, std::move(outside));
               }));
    }
    inner->set("loop", std::move(loop));
    assign(s.names, items[i], *inner);
    if (run(s.body, *inner) == Flow::leave) break;
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

}  // namespace megalith::chat
