#include "tokens/chat/parser.h"

#include "tokens/chat/expression_parser.h"
#include "tokens/unicode.h"

namespace megalith::chat {

namespace {

class Parser {
  using Kind = Statement::Kind;

 public:
  explicit Parser(std::string_view source) : e_(cut_template(source)) {}

  Statements parse() {
    Statements all = statements();
    if (e_.now().kind != Token::Kind::end) e_.wrong("{{% {} %}} ends nothing", e_.ahead().text);
    return all;
  }

 private:
  // Up to the tag that ends them, {% end.. %}, {% else %} or {% elif %}, which stays unread.
  Statements statements() {
    const ExpressionParser::Level level(e_);
    Statements out;
    for (;;) {
      const Token& t = e_.now();
      if (t.kind == Token::Kind::end) return out;
      if (t.kind == Token::Kind::text) {
        out.push_back({.kind = Kind::text, .line = t.line, .text = t.text});
        e_.take();
      } else if (t.kind == Token::Kind::print_begin) {
        const int line = e_.take().line;
        out.push_back({.kind = Kind::print, .line = line, .value = e_.expressions(true)});
        want(Token::Kind::print_end, "}}");
      } else {
        if (is_end(e_.ahead())) return out;
        e_.take();
        out.push_back(block());
      }
    }
  }

  static bool is_end(const Token& t) {
    return t.kind == Token::Kind::name && (t.text.starts_with("end") || t.text == "else" || t.text == "elif");
  }

  void want(Token::Kind kind, std::string_view mark) {
    if (e_.now().kind != kind) e_.wrong("{} is missing before \"{}\"", mark, e_.now().text);
    e_.take();
  }
  void end_block() { want(Token::Kind::block_end, "%}"); }

  // Reads {% name %}, which must be next.
  void want_tag(std::string_view name, int begun) {
    const bool there = e_.now().kind == Token::Kind::block_begin && e_.ahead().text == name;
    if (!there) fail("line {}: {{% {} %}} is missing for the tag begun here", begun, name);
    e_.take(), e_.take();
    end_block();
  }

  Statement block() {
    const int line = e_.now().line;
    const std::string name = e_.want_name();
    if (name == "if") return condition(line);
    if (name == "for") return loop(line);
    if (name == "set") return set(line);
    if (name == "macro") return macro(line);
    if (name == "call") return call(line);
    if (name == "with") return with(line);
    if (name == "filter") return filter(line);
    if (name == "generation") return generation(line);
    if (name == "break" || name == "continue") {
      if (loops_ == 0) e_.wrong("{} is outside of a loop", name);
      end_block();
      return {.kind = name == "break" ? Kind::leave : Kind::next_item, .line = line};
    }
    e_.wrong(
        "the tag {} is not supported: use if, for, set, macro, call, with, filter, generation, raw, break, "
        "continue",
        name);
  }

  Statement condition(int line) {
    Statement s{.kind = Kind::condition, .line = line, .value = e_.expressions(false)};
    end_block();
    s.body = statements();
    if (e_.now().kind == Token::Kind::block_begin && e_.ahead().text == "elif") {
      const ExpressionParser::Level level(e_);
      e_.take();
      const int at = e_.take().line;
      s.otherwise.push_back(condition(at));
      return s;
    }
    s.otherwise = otherwise();
    want_tag("endif", line);
    return s;
  }

  Statements otherwise() {
    if (e_.now().kind != Token::Kind::block_begin || e_.ahead().text != "else") return {};
    e_.take(), e_.take();
    end_block();
    return statements();
  }

  std::vector<std::string> targets() {
    const bool bracket = e_.skip("(");
    std::vector<std::string> names = {e_.want_name()};
    while (e_.skip(",")) names.push_back(e_.want_name());
    if (bracket) e_.want(")");
    return names;
  }

  Statement loop(int line) {
    Statement s{.kind = Kind::loop, .line = line, .names = targets()};
    if (!e_.skip_word("in")) e_.wrong("\"in\" is missing before \"{}\"", e_.now().text);
    s.value = e_.expressions(false);
    if (e_.skip_word("if")) s.condition = e_.expression();
    s.recursive = e_.skip_word("recursive");
    end_block();
    ++loops_;
    s.body = statements();
    --loops_;
    s.otherwise = otherwise();
    want_tag("endfor", line);
    return s;
  }

  Statement set(int line) {
    Statement s{.kind = Kind::set, .line = line, .names = targets()};
    if (e_.skip(".")) s.text = e_.want_name();
    if (e_.skip("=")) {
      s.value = e_.expressions(true);
      end_block();
      return s;
    }
    if (s.names.size() > 1 || !s.text.empty()) e_.wrong("= is missing before \"{}\"", e_.now().text);
    s.kind = Kind::capture;
    if (e_.is("|")) s.value = e_.filters_of_body();
    end_block();
    s.body = within(s, "endset");
    return s;
  }

  Statement macro(int line) {
    Statement s{.kind = Kind::macro, .line = line, .text = e_.want_name()};
    signature(s);
    end_block();
    const size_t begin = e_.place();
    s.body = within(s, "endmacro");
    s.more_values = e_.has_name_since(begin, "varargs");
    s.more_names = e_.has_name_since(begin, "kwargs");
    s.takes_caller = e_.has_name_since(begin, "caller");
    return s;
  }

  Statement call(int line) {
    Statement s{.kind = Kind::call, .line = line};
    if (e_.is("(")) signature(s);
    s.value = e_.expression();
    if (s.value->kind != Expression::Kind::call) e_.wrong("{{% call %}} needs a call of a macro");
    end_block();
    s.body = within(s, "endcall");
    return s;
  }

  Statement with(int line) {
    Statement s{.kind = Kind::with, .line = line};
    while (e_.now().kind != Token::Kind::block_end) {
      if (!s.names.empty()) e_.want(",");
      s.names.push_back(e_.want_name());
      e_.want("=");
      s.defaults.push_back(e_.expression());
    }
    end_block();
    s.body = statements();
    want_tag("endwith", line);
    return s;
  }

  Statement filter(int line) {
    Statement s{.kind = Kind::filtered, .line = line, .value = e_.filters_of_body()};
    end_block();
    s.body = within(s, "endfilter");
    return s;
  }

  // (a, b, c=1)
  void signature(Statement& s) {
    e_.want("(");
    while (!e_.skip(")")) {
      s.names.push_back(e_.want_name());
      if (e_.skip("="))
        s.defaults.push_back(e_.expression());
      else if (!s.defaults.empty())
        e_.wrong("the argument {} needs a default, as the one before it", s.names.back());
      if (!e_.is(")")) e_.want(",");
    }
  }

  Statement generation(int line) {
    Statement s{.kind = Kind::generation, .line = line};
    if (captures_ > 0) e_.wrong("{{% generation %}} is inside a macro, a {{% set %}} or another one: it has no place");
    end_block();
    s.body = within(s, "endgeneration");
    return s;
  }

  // The body of a statement that captures its output. Break and continue cannot leave it.
  Statements within(const Statement& s, std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    ++captures_;
    Statements body = statements();
    --captures_;
    loops_ = loops;
    want_tag(end, s.line);
    return body;
  }

  ExpressionParser e_;
  int loops_ = 0, captures_ = 0;  // open now
};

}  // namespace

Statements parse_template(std::string_view source) {
  check(replace_invalid_utf8(source) == source, "line 1: the template is not valid UTF-8");
  return Parser(source).parse();
}

}  // namespace megalith::chat
