// Runs a parsed template once.
#pragma once
#include "tokens/chat/call.h"
#include "tokens/chat/scope.h"
#include "tokens/chat/syntax.h"
#include "tokens/chat/template.h"

namespace megalith::chat {

class Renderer {
 public:
  explicit Renderer(const Dict& variables);

  Rendered run(const Statements& body);
  int line() const { return line_; }  // current line

 private:
  enum class Flow { on, leave, next_item };

  // Counts nested statements and expressions. Each is a step of the budget. Too many are an error before the stack
  // overflows.
  class Level {
   public:
    Level(Renderer& r, int line) : r_(r) {
      constexpr int kDeepest = 1500;
      r.line_ = line;
      r.budget_.spend_steps(1);
      check(++r.depth_ <= kDeepest, "the template nests more than {} steps: a macro may call itself", kDeepest);
    }
    ~Level() { --r_.depth_; }
    Level(const Level&) = delete;

   private:
    Renderer& r_;
  };

  Flow run(const Statements& body, Scope& scope);
  Flow run(const Statement& s, Scope& scope);
  Flow loop(const Statement& s, Scope& scope);
  Flow loop_over(const Statement& s, const Value& over, i64 depth, Scope& scope);
  void set(const Statement& s, Scope& scope);
  void define_macro(const Statement& s, Scope& scope);
  Function body_as_function(const Statement& s, std::string_view name, Scope& scope);
  Value call_macro(const Statement& s, std::string_view name, Scope& around, Call& call);
  void call_block(const Statement& s, Scope& scope);
  Flow with(const Statement& s, Scope& scope);
  std::string filtered(const Statement& s, Scope& scope);
  void generation(const Statement& s, Scope& scope);
  std::string captured(const Statements& body, Scope& scope);
  void write(std::string_view text);

  Value evaluate(const Expression& e, Scope& scope);
  Value evaluate_parts(const Expression& e, Scope& scope);
  Value name(const Expression& e, const Scope& scope) const;
  Value collection(const Expression& e, Scope& scope);
  Value slice(const Expression& e, Scope& scope);
  Value binary_of(const Expression& e, Scope& scope);
  Value unary(const Expression& e, Scope& scope);
  Value call(const Expression& e, Scope& scope, const Function* caller = nullptr);
  Value filter(const Expression& e, Scope& scope);
  Value test(const Expression& e, Scope& scope);
  Call arguments(const Expression& e, std::string_view name, Scope& scope);

  Budget budget_;
  ScopePtr root_;               // the scope of the template, inside that of globals
  std::vector<ScopePtr> kept_;  // scopes of macro definitions, which macros use until the end
  Rendered out_;
  int line_ = 1, depth_ = 0;
};

}  // namespace megalith::chat
