// The variables in a macro: those around its definition, with their values at the call.
#include "tests/tokens/helpers.h"
#include "tokens/chat/template.h"

namespace megalith::chat {

// Expected: render_jinja_template of transformers 5.24 with jinja2 3.1, with z = 3.
TEST(ChatMacro, closures_equal_those_of_jinja) {
  struct Case {
    const char* source;
    const char* text;
  };
  constexpr Case kCases[] = {
      {"{% macro f(a, b=2, c=a) %}{{ a }}-{{ b }}-{{ c }};{% endmacro %}{{ f(1) }}{{ f(1, 3) }}{{ f(b=5, a='x') }}"
       "{{ f() }}",
       "1-2-1;1-3-1;x-5-x;-2-;"},
      {"{% macro f(n) %}{{ n }}{% if n > 0 %},{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "3,2,1,0"},
      {"{% set v = 1 %}{% macro a() %}{{ v }}{% endmacro %}{{ a() }}{% set v = 2 %}{{ a() }}"
       "{% for i in [5] %}{% set v = i %}{{ a() }}{% endfor %}",
       "122"},
      {"{% for v in [1, 2] %}{% macro a(x) %}{{ v }}{{ x }}{{ loop.index }}{% endmacro %}{{ a('x') }}{% endfor %}",
       "1x12x2"},
      {"{% for i in [1, 2] %}{% set w = i * 10 %}{% macro a() %}{{ w }}{{ i }}{% endmacro %}{{ a() }}{% set w = 7 %}"
       "{{ a() }}{% endfor %}",
       "1017120272"},
      {"{% macro outer(x) %}{% macro inner(y) %}{{ x }}{{ y }}{{ z }}{% endmacro %}{% set z = 9 %}{{ inner(1) }}"
       "{% endmacro %}{{ outer('o') }}",
       "o19"},
      {"{% for i in [1, 2] %}{% macro a() %}{{ i }}{% endmacro %}{% endfor %}{{ a is defined }}", "False"},
      {"{% macro a(x, y=2) %}[{{ x }}{{ y }}{{ varargs }}{{ kwargs | tojson }}]{% endmacro %}{{ a(1) }}"
       "{{ a(1, 3, 4, 5) }}{{ a(x=1, k=9) }}",
       "[12(){}][13(4, 5){}][12(){\"k\": 9}]"},
      {"{% macro box(t) %}<{{ t }}>{{ caller() }}</{{ t }}>{% endmacro %}{% call box('b') %}in {{ z }}{% endcall %}",
       "<b>in 3</b>"},
  };
  Dict variables;
  variables.set("z", i64{3});
  for (const Case& c : kCases) EXPECT_EQ(Template(c.source, "t").render(variables).text, c.text) << c.source;
}

}  // namespace megalith::chat
