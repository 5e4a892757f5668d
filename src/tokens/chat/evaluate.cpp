// Evaluates a template's expressions.
#include "tokens/chat/builtins.h"
#include "tokens/chat/renderer.h"

namespace megalith::chat {

namespace {

// The cost to traverse a value once.
i64 cost_of(const Value& v) {
  if (v.string()) return i64(v.string()->size());
  return v.list() ? Budget::kStep * i64(v.list()->size()) : 0;
}

}  // namespace

Value Renderer::evaluate(const Expression& e, Scope& scope) {
  const Level level(*this, e.line);
  return evaluate_parts(e, scope);
}

Value Renderer::evaluate_parts(const Expression& e, Scope& scope) {
  switch (e.kind) {
    case Expression::Kind::constant:
      return e.value;
    case Expression::Kind::name:
      return name(e, scope);
    case Expression::Kind::list:
    case Expression::Kind::dict:
      return collection(e, scope);
    case Expression::Kind::attribute:
      return attribute_of(evaluate(*e.parts[0], scope), e.text);
    case Expression::Kind::item: {
      const Value value = evaluate(*e.parts[0], scope);
      if (value.string()) budget_.spend(cost_of(value));
      return item_of(value, evaluate(*e.parts[1], scope));
    }
    case Expression::Kind::slice:
      return slice(e, scope);
    case Expression::Kind::call:
      return call(e, scope);
    case Expression::Kind::filter:
      return filter(e, scope);
    case Expression::Kind::test:
      return test(e, scope);
    case Expression::Kind::unary:
      return unary(e, scope);
    case Expression::Kind::binary:
      return binary_of(e, scope);
    case Expression::Kind::compare:
      for (const ExpressionPtr& pair : e.parts)
        if (!evaluate(*pair, scope).truth()) return false;
      return true;
    case Expression::Kind::choice:
      if (evaluate(*e.parts[0], scope).truth()) return evaluate(*e.parts[1], scope);
      return e.parts[2] ? evaluate(*e.parts[2], scope) : Value(Undefined{"the value of an if without else"});
  }
  return {};
}

Value Renderer::name(const Expression& e, const Scope& scope) const {
  const Value* found = scope.find(e.text);
  return found ? *found : Value(Undefined{e.text});
}

Value Renderer::collection(const Expression& e, Scope& scope) {
  if (e.kind == Expression::Kind::list) {
    List out;
    for (const ExpressionPtr& part : e.parts) out.push_back(evaluate(*part, scope));
    return e.text == kTuple ? Value::tuple(std::move(out)) : Value(std::move(out));
  }
  Dict out;
  for (size_t k = 0; k < e.parts.size(); k += 2) {
    const Value key = evaluate(*e.parts[k], scope);
    check(key.string() != nullptr, "the keys of a mapping are strings, not {}", key.kind());
    out.set(*key.string(), evaluate(*e.parts[k + 1], scope));
  }
  return out;
}

Value Renderer::slice(const Expression& e, Scope& scope) {
  const Value value = evaluate(*e.parts[0], scope);
  Value bounds[3] = {None{}, None{}, None{}};
  for (size_t k = 0; k < 3; ++k)
    if (e.parts[k + 1]) bounds[k] = evaluate(*e.parts[k + 1], scope);
  budget_.spend(Budget::kStep * cost_of(value));
  return slice_of(value, bounds[0], bounds[1], bounds[2]);
}

Value Renderer::binary_of(const Expression& e, Scope& scope) {
  Value left = evaluate(*e.parts[0], scope);
  if (e.text == "and") return left.truth() ? evaluate(*e.parts[1], scope) : left;
  if (e.text == "or") return left.truth() ? left : evaluate(*e.parts[1], scope);
  const Value right = evaluate(*e.parts[1], scope);
  budget_.spend(cost_of(left) + cost_of(right));
  line_ = e.line;
  return binary(e.text, left, right, budget_);
}

Value Renderer::unary(const Expression& e, Scope& scope) {
  const Value v = evaluate(*e.parts[0], scope);
  if (e.text == "not") return !v.truth();
  double number = 0;
  check(v.number(number), "{}{} has no meaning", e.text, v.kind());
  return binary(e.text, Value(i64{0}), v, budget_);
}

Call Renderer::arguments(const Expression& e, std::string_view name, Scope& scope) {
  Call c{name, {}, {}, budget_};
  for (size_t k = 1; k < e.parts.size(); ++k) c.arguments.push_back(evaluate(*e.parts[k], scope));
  for (const auto& [key, value] : e.named) c.named.emplace_back(key, evaluate(*value, scope));
  line_ = e.line;
  return c;
}

// Calls a method of a value, or a function. caller: the body of a {% call %} block.
Value Renderer::call(const Expression& e, Scope& scope, const Function* caller) {
  const Expression& callee = *e.parts[0];
  Value f;
  if (callee.kind == Expression::Kind::attribute) {
    const Value object = evaluate(*callee.parts[0], scope);
    if (const Method method = find_method(object, callee.text)) {
      Call c = arguments(e, callee.text, scope);
      budget_.spend(cost_of(object));
      Value out = method(object, c);
      budget_.spend(cost_of(out));
      return out;
    }
    f = attribute_of(object, callee.text);
    check(f.as<Value::FunctionPtr>() != nullptr, "{} has no method {}", object.kind(), callee.text);
  } else {
    f = evaluate(callee, scope);
  }
  if (const Value* called = f.dict() ? f.dict()->find(kCalled) : nullptr) f = Value(*called);
  const auto* function = f.as<Value::FunctionPtr>();
  check(function != nullptr, "{} is {} and cannot be called", callee.text, f.kind());
  const Value::FunctionPtr held = *function;
  Call c = arguments(e, callee.text, scope);
  if (caller) c.named.emplace_back("caller", *caller);
  return (*held)(c);
}

Value Renderer::filter(const Expression& e, Scope& scope) {
  const Value input = evaluate(*e.parts[0], scope);
  Call c = arguments(e, e.text, scope);
  budget_.spend(cost_of(input));
  return find_filter(e.text)(input, c);
}

Value Renderer::test(const Expression& e, Scope& scope) {
  const Value input = evaluate(*e.parts[0], scope);
  Call c = arguments(e, e.text, scope);
  budget_.spend(cost_of(input));
  return find_test(e.text)(input, c);
}

}  // namespace megalith::chat
