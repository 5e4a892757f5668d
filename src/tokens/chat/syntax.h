// A parsed template: statements and expressions as trees of one kind of node each.
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
    slice,      // parts[0][parts[1]:parts[2]:parts[3]], null where left out
    call,       // parts[0](parts[1..], named)
    filter,     // parts[0] | text(parts[1..], named)
    test,       // parts[0] is text(parts[1..])
    unary,      // text: - + not
    binary,     // text: + - * / // % ** ~ == != < <= > >= in "not in" and or
    compare,    // a < b < c: parts are the binary comparisons, of which all must hold
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
    loop,        // for names in value if condition: body; if it never ran: otherwise
    set,         // names = value, or name.text = value
    capture,     // names[0] = what body writes; with `value`, a filter's result of it
    macro,       // text(names; defaults are the last of them): body
    call,        // value, which calls a macro, with caller(names; defaults): body
    with,        // names = defaults, for the body alone
    filtered,    // value, a filter's result of what body writes
    generation,  // body, whose place in the output is noted
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
  bool recursive = false;                        // a loop whose `loop` can be called
  bool more_values = false, more_names = false;  // a macro reads varargs, kwargs
  bool takes_caller = false;                     // a macro reads caller
};

// What a filter of a block reads; no template can write such a name.
inline constexpr std::string_view kBody = "{body}";
// The member of a recursive loop's `loop` that a call of it calls.
inline constexpr std::string_view kCalled = "{called}";
using Statements = std::vector<Statement>;

}  // namespace megalith::chat
