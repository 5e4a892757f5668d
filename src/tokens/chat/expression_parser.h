// Parses Jinja's expressions from the tokens of a template.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "tokens/chat/lexer.h"
#include "tokens/chat/syntax.h"

namespace megalith::chat {

class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& now() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token take();
  bool is(std::string_view sign) const { return now().kind == Token::Kind::sign && now().text == sign; }
  bool is_word(std::string_view name) const { return now().kind == Token::Kind::name && now().text == name; }
  bool skip(std::string_view sign) { return is(sign) && (++at_, true); }
  bool skip_word(std::string_view name) { return is_word(name) && (++at_, true); }
  void want(std::string_view sign);
  std::string want_name();

  template <class... A>
  [[noreturn]] void wrong(fmt::format_string<A...> text, A&&... args) const {
    fail("line {}: {}", now().line, fmt::format(text, std::forward<A>(args)...));
  }

  ExpressionPtr expression();    // with .. if .. else
  ExpressionPtr alternatives();  // without
  // A chain of filters for the output of a block; the first may lack its |.
  ExpressionPtr filters_of_body();
  // The position of the next token, and whether a name is between there and the following one.
  size_t place() const { return at_; }
  bool has_name_since(size_t place, std::string_view name) const;

  // One expression, or several with commas, which make a list.
  ExpressionPtr expressions(bool with_choice);

  // Counts nested levels, so deep nesting is an error before the stack overflows.
  class Level {
   public:
    explicit Level(ExpressionParser& p) : p_(p) {
      if (++p_.depth_ > kDeepest) p_.wrong("nested more than {} levels deep", kDeepest);
    }
    ~Level() { --p_.depth_; }
    Level(const Level&) = delete;

   private:
    ExpressionParser& p_;
  };

 private:
  static constexpr int kDeepest = 200;

  using Kind = Expression::Kind;
  std::shared_ptr<Expression> make(Kind kind, std::string text, std::vector<ExpressionPtr> parts) const;
  using Below = ExpressionPtr (ExpressionParser::*)();
  ExpressionPtr binary(Below below, std::initializer_list<std::string_view> signs);

  ExpressionPtr both();
  ExpressionPtr negation();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr joined();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary() { return unary(true); }
  ExpressionPtr unary(bool with_filters);
  ExpressionPtr primary();
  ExpressionPtr constant(Value value) const;
  ExpressionPtr number();
  ExpressionPtr list(std::string_view end);
  ExpressionPtr dict();
  ExpressionPtr postfix(ExpressionPtr node);
  ExpressionPtr subscript(ExpressionPtr node);
  ExpressionPtr filters(ExpressionPtr node);
  ExpressionPtr filter(ExpressionPtr node);
  ExpressionPtr test(ExpressionPtr node);
  void arguments(Expression& call);

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace megalith::chat
