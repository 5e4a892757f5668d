#include "tokens/chat/expression_parser.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "tokens/chat/builtins.h"

namespace megalith::chat {

Token ExpressionParser::take() {
  Token t = now();
  if (t.kind != Token::Kind::end) ++at_;
  return t;
}

void ExpressionParser::want(std::string_view sign) {
  if (!skip(sign)) wrong("'{}' is missing before \"{}\"", sign, now().text);
}

std::string ExpressionParser::want_name() {
  if (now().kind != Token::Kind::name) wrong("a name is missing before \"{}\"", now().text);
  return take().text;
}

std::shared_ptr<Expression> ExpressionParser::make(Kind kind, std::string text,
                                                   std::vector<ExpressionPtr> parts) const {
  return std::make_shared<Expression>(Expression{kind, now().line, std::move(text), {}, std::move(parts), {}});
}

ExpressionPtr ExpressionParser::constant(Value value) const {
  auto e = make(Kind::constant, "", {});
  e->value = std::move(value);
  return e;
}

ExpressionPtr ExpressionParser::expression() {
  const Level level(*this);
  ExpressionPtr node = alternatives();
  while (skip_word("if")) {
    ExpressionPtr condition = alternatives();
    ExpressionPtr otherwise = skip_word("else") ? expression() : nullptr;
    node = make(Kind::choice, "", {condition, node, otherwise});
  }
  return node;
}

ExpressionPtr ExpressionParser::expressions(bool with_choice) {
  const auto one = [&] { return with_choice ? expression() : alternatives(); };
  ExpressionPtr first = one();
  if (!is(",")) return first;
  std::vector<ExpressionPtr> all = {first};
  while (skip(",") && now().kind != Token::Kind::block_end) all.push_back(one());
  return make(Kind::list, std::string(kTuple), std::move(all));
}

// Left-associative.
ExpressionPtr ExpressionParser::binary(Below below, std::initializer_list<std::string_view> signs) {
  ExpressionPtr node = (this->*below)();
  for (int chain = 0;;) {
    const auto sign = std::ranges::find_if(signs, [&](std::string_view s) { return is(s) || is_word(s); });
    if (sign == signs.end()) return node;
    if (++chain > 5 * kDeepest) wrong("an expression of more than {} terms", 5 * kDeepest);
    take();
    auto next = make(Kind::binary, std::string(*sign), {node});
    next->parts.push_back((this->*below)());
    node = next;
  }
}

ExpressionPtr ExpressionParser::alternatives() { return binary(&ExpressionParser::both, {"or"}); }
ExpressionPtr ExpressionParser::both() { return binary(&ExpressionParser::negation, {"and"}); }

ExpressionPtr ExpressionParser::negation() {
  const Level level(*this);
  if (skip_word("not")) return make(Kind::unary, "not", {negation()});
  return comparison();
}

ExpressionPtr ExpressionParser::comparison() {
  ExpressionPtr left = sum();
  std::vector<ExpressionPtr> pairs;
  for (;;) {
    std::string sign;
    for (const std::string_view s : {"==", "!=", "<=", ">=", "<", ">"})
      if (sign.empty() && is(s)) sign = s;
    if (is_word("in")) sign = "in";
    if (is_word("not") && ahead().kind == Token::Kind::name && ahead().text == "in") take(), sign = "not in";
    if (sign.empty()) break;
    take();
    ExpressionPtr right = sum();
    pairs.push_back(make(Kind::binary, sign, {left, right}));
    left = right;
  }
  if (pairs.empty()) return left;
  return pairs.size() == 1 ? pairs[0] : make(Kind::compare, "", std::move(pairs));
}

ExpressionPtr ExpressionParser::sum() { return binary(&ExpressionParser::joined, {"+", "-"}); }
ExpressionPtr ExpressionParser::joined() { return binary(&ExpressionParser::product, {"~"}); }
ExpressionPtr ExpressionParser::product() { return binary(&ExpressionParser::power, {"*", "/", "//", "%"}); }
ExpressionPtr ExpressionParser::power() { return binary(&ExpressionParser::unary, {"**"}); }

ExpressionPtr ExpressionParser::unary(bool with_filters) {
  const Level level(*this);
  ExpressionPtr node;
  if (is("-") || is("+")) {
    std::string sign = take().text;
    node = make(Kind::unary, std::move(sign), {unary(false)});
  } else {
    node = primary();
  }
  node = postfix(node);
  return with_filters ? filters(node) : node;
}

ExpressionPtr ExpressionParser::number() {
  const Token t = take();
  if (t.kind == Token::Kind::number)
    return constant(std::strtod(t.text.c_str(), nullptr));  // infinity for a number that is too large, as in Python
  i64 value = 0;
  const auto [end, error] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), value);
  if (error != std::errc()) wrong("{} is too large", t.text);
  return constant(value);
}

ExpressionPtr ExpressionParser::primary() {
  switch (now().kind) {
    case Token::Kind::name: {
      std::string name = take().text;
      if (name == "true" || name == "True") return constant(true);
      if (name == "false" || name == "False") return constant(false);
      if (name == "none" || name == "None") return constant(None{});
      return make(Kind::name, std::move(name), {});
    }
    case Token::Kind::string: {  // adjacent strings are joined
      std::string text;
      while (now().kind == Token::Kind::string) text += take().text;
      return constant(std::move(text));
    }
    case Token::Kind::whole:
    case Token::Kind::number:
      return number();
    default:
      break;
  }
  if (skip("[")) return list("]");
  if (skip("{")) return dict();
  if (!skip("(")) wrong("an expression is missing before \"{}\"", now().text);
  if (skip(")")) return make(Kind::list, std::string(kTuple), {});
  ExpressionPtr first = expression();
  if (skip(")")) return first;
  want(",");
  auto rest = std::make_shared<Expression>(*list(")"));
  rest->parts.insert(rest->parts.begin(), first);
  rest->text = kTuple;
  return rest;
}

ExpressionPtr ExpressionParser::list(std::string_view end) {
  auto node = make(Kind::list, "", {});
  while (!skip(end)) {
    node->parts.push_back(expression());
    if (!is(end)) want(",");
  }
  return node;
}

ExpressionPtr ExpressionParser::dict() {
  auto node = make(Kind::dict, "", {});
  while (!skip("}")) {
    node->parts.push_back(expression());
    want(":");
    node->parts.push_back(expression());
    if (!is("}")) want(",");
  }
  return node;
}

// .name [..] (..) after a value
ExpressionPtr ExpressionParser::postfix(ExpressionPtr node) {
  for (int chain = 0;; ++chain) {
    if (chain > kDeepest) wrong("an expression of more than {} steps", kDeepest);
    if (skip(".")) {
      if (now().kind == Token::Kind::whole) {
        node = make(Kind::item, "", {node, number()});
      } else {
        std::string name = want_name();
        node = make(Kind::attribute, std::move(name), {node});
      }
    } else if (skip("[")) {
      node = subscript(node);
    } else if (is("(")) {
      auto call = make(Kind::call, "", {node});
      arguments(*call);
      node = call;
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr node) {
  std::vector<ExpressionPtr> parts = {node};
  const auto part = [&] { parts.push_back(is(":") || is("]") ? nullptr : expression()); };
  part();
  if (skip("]")) {
    if (!parts[1]) wrong("[] holds nothing");
    return make(Kind::item, "", std::move(parts));
  }
  while (parts.size() < 4 && skip(":")) part();
  want("]");
  parts.resize(4);
  return make(Kind::slice, "", std::move(parts));
}

ExpressionPtr ExpressionParser::filters(ExpressionPtr node) {
  for (int chain = 0;; ++chain) {
    if (chain > kDeepest) wrong("an expression of more than {} steps", kDeepest);
    if (skip("|"))
      node = filter(node);
    else if (skip_word("is"))
      node = test(node);
    else if (is("("))
      node = postfix(node);
    else
      return node;
  }
}

ExpressionPtr ExpressionParser::filters_of_body() {
  skip("|");
  ExpressionPtr node = filter(make(Kind::name, std::string(kBody), {}));
  while (skip("|")) node = filter(node);
  return node;
}

bool ExpressionParser::has_name_since(size_t place, std::string_view name) const {
  const auto is_it = [&](const Token& t) { return t.kind == Token::Kind::name && t.text == name; };
  return std::any_of(tokens_.begin() + std::ptrdiff_t(place), tokens_.begin() + std::ptrdiff_t(at_), is_it);
}

ExpressionPtr ExpressionParser::filter(ExpressionPtr node) {
  const std::string name = want_name();
  if (!find_filter(name)) wrong("the filter {} is not supported: {}", name, filter_names());
  auto e = make(Kind::filter, name, {node});
  if (is("(")) arguments(*e);
  return e;
}

ExpressionPtr ExpressionParser::test(ExpressionPtr node) {
  const bool negated = skip_word("not");
  const std::string name = want_name();
  if (!find_test(name)) wrong("the test {} is not supported: {}", name, test_names());
  auto e = make(Kind::test, name, {node});
  const Token::Kind k = now().kind;
  const bool begins_value = k == Token::Kind::name || k == Token::Kind::string || k == Token::Kind::whole ||
                            k == Token::Kind::number || is("[") || is("{");
  if (is("(")) {
    arguments(*e);
  } else if (begins_value && !is_word("else") && !is_word("or") && !is_word("and") && !is_word("if")) {
    if (is_word("is")) wrong("tests cannot follow one another");
    ExpressionPtr argument = primary();
    e->parts.push_back(postfix(argument));
  }
  if (!negated) return e;
  return make(Kind::unary, "not", {e});
}

void ExpressionParser::arguments(Expression& call) {
  want("(");
  while (!skip(")")) {
    if (is("*") || is("**")) wrong("arguments with * are not supported");
    if (now().kind == Token::Kind::name && ahead().kind == Token::Kind::sign && ahead().text == "=") {
      std::string name = take().text;
      take();
      call.named.emplace_back(std::move(name), expression());
    } else {
      if (!call.named.empty()) wrong("an argument without a name follows one with a name");
      call.parts.push_back(expression());
    }
    if (!is(")")) want(",");
  }
}

}  // namespace megalith::chat
