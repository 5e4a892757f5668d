// A parsed template: trees of statements and expressions, each with one kind of node.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokens/chat/value.h"

namespace megalith::chat {

struct Expression {
  enum class Kind {
    constant,   // value
    name,       // text
    list,       // parts; a tuple if text is kTuple
    dict,       // parts: key, value, key, value ..
    attribute,  // parts[0].text
    item,       // parts[0][parts[1]]
    slice,      // parts[0][parts[1]:parts[2]:parts[3]]; null if omitted
    call,       // parts[0](parts[1..], named)
    filter,     // parts[0] | text(parts[1..], named)
    test,       // parts[0] is text(parts[1..])
    unary,      // text: - + not
    binary,     // text: + - * / // % ** ~ == != < <= > >= in "not in" and or
    compare,    // a < b < c: parts are the comparisons; all must be true
    choice,     // parts[1] if parts[0] else parts[2] (null: undefined)
  };
  Kind kind;
  int line;
  std::string text{};
  Value value{};
  std::vector<std::shared_ptr<const Expression>> parts{};
  std::vector<std::pair<std::string, std::shared_ptr<const Expression>>> named{};
};
inline constexpr std::string_view kTuple = "tuple";
using ExpressionPtr = std::shared_ptr<const Expression>;

struct Statement {
  enum class Kind {
    text,        // text
    print,       // value
    condition,   // if value: body, else: otherwise
    loop,        // for names in value if condition: body; otherwise, if there was no iteration
    set,         // names = value, or name.text = value
    capture,     // names[0] = the body's output; with `value`, through a filter
    macro,       // text(names; defaults belong to the last names): body
    call,        // value, which calls a macro, with caller(names; defaults): body
    with,        // names = defaults, for the body only
    filtered,    // value: a filter of the body's output
    generation,  // body, whose range in the output is recorded
    leave,
    next_item  // break, continue
  };
  Kind kind;
  int line;
  std::string text{};
  std::vector<std::string> names{};
  ExpressionPtr value{}, condition{};
  std::vector<ExpressionPtr> defaults{};
  std::vector<Statement> body{}, otherwise{};
  bool recursive = false;                        // a loop with a callable `loop`
  bool more_values = false, more_names = false;  // the macro reads varargs, kwargs
  bool takes_caller = false;                     // the macro reads caller
};

// The input of a block's filter. No template can write this name.
inline constexpr std::string_view kBody = "{body}";
// The member of a recursive loop's `loop` that a call of it invokes.
inline constexpr std::string_view kCalled = "{called}";
using Statements = std::vector<Statement>;

}  // namespace megalith::chat
