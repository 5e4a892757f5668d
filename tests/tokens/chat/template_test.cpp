// Templates that must fail, quickly, with one line that has the template's line number.
#include "tokens/chat/template.h"

#include <ctime>

#include "tests/tokens/helpers.h"
#include "tokens/chat/json_value.h"

namespace megalith::chat {

namespace {

std::string render(const std::string& source, const std::string& variables = "{}") {
  return Template(source, "t.jinja").render(*JsonValues().read(variables).dict()).text;
}

struct Refused {
  const char* source;
  const char* message;
};

std::string repeated(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

}  // namespace

TEST(ChatTemplate, errors_name_the_line) {
  constexpr Refused kRefused[] = {
      {"a\n{{ x.y }}", "t.jinja: line 2: x is undefined"},
      {"{% if a %}\n{% for x in y %}\n{% endif %}", "t.jinja: line 2: {% endfor %} is missing for the tag begun here"},
      {"\n\n{{ 'a' | nothing }}", "t.jinja: line 3: the filter nothing is not supported"},
      {"{{ a is strange }}", "t.jinja: line 1: the test strange is not supported"},
      {"{% include 'x' %}", "t.jinja: line 1: the tag include is not supported"},
      {"{{ raise_exception('two\nlines') }}", "t.jinja: line 1: the template refuses this: two lines"},
      {"{% macro m() %}{% generation %}{% endgeneration %}{% endmacro %}",
       "t.jinja: line 1: {% generation %} is inside a macro"},
      {"{% set ns = namespace() %}{% set ns.me = [ns] %}",
       "t.jinja: line 1: ns.me: a namespace cannot hold a namespace"},
      {"{% set a = 1 %}{% set a.b = 1 %}", "t.jinja: line 1: a is no namespace()"},
      {"{{ 9223372036854775807 + 1 }}", "t.jinja: line 1: 9223372036854775807 + 1 is too large"},
      {"{{ (-9223372036854775807 - 1) // -1 }}", "is too large"},
      {"{{ 5 % 0 }}", "t.jinja: line 1: division by zero"},
      {"{% break %}", "t.jinja: line 1: break is outside of a loop"},
      {"\xFF", "t.jinja: line 1: the template is not valid UTF-8"},
      {"{{ 1 ] }}", "closes nothing"},
      {"{{ a(*b) }}", "not supported"},
      {"{{ '\\ud800' }}", "names no character"},
  };
  for (const Refused& r : kRefused) {
    const std::string error = error_of([&] { render(r.source); });
    EXPECT_NE(error.find(r.message), std::string::npos) << r.source << "\n" << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

// Endless loops, and unlimited memory or stack, are stopped within about a second.
TEST(ChatTemplate, endless_work_is_stopped) {
  const std::string endless[] = {
      "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
      "{{ range(10000000000) | length }}",
      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
      "{% macro m() %}" + repeated("{% if true %}", 50) + "{{ m() }}" + repeated("{% endif %}", 50) +
          "{% endmacro %}{{ m() }}",
      "{{ 'x' * 1000000000 }}",
      "{{ 'x' * 9223372036854775807 }}",
      "{% set ns = namespace(x='abcdefgh') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
      "{% set ns = namespace(x=[]) %}{% for i in range(100000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
      "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
      "{% for i in range(100000) %}{{ 'abc' * 1000 }}{% endfor %}",
      "{{ 2 ** 4000000000 }}",
      "{{ (('a' * 10000).replace('', 'b' * 10000)) | length }}",
      repeated("(", 100000),
      "{{ " + repeated("(", 100000),
      "{{ " + repeated("not ", 100000) + "1 }}",
      "{{ " + repeated("-", 100000) + "1 }}",
      "{{ 1" + repeated(" + 1", 100000) + " }}",
      "{{ a" + repeated(".a", 100000) + " }}",
      repeated("{% if a %}", 100000),
      "{% if a %}" + repeated("{% elif a %}", 100000) + "{% endif %}",
      "{{ " + repeated("[", 100000),
      "{{ 1" + repeated(" if 1 else 1", 100000) + " }}",
  };
  for (const std::string& source : endless) {
    const std::clock_t begin = std::clock();
    const std::string error = error_of([&] { render(source); });
    const double seconds = double(std::clock() - begin) / CLOCKS_PER_SEC;
    EXPECT_TRUE(!error.empty() || source[0] == '(') << source.substr(0, 100);
    EXPECT_LT(seconds, 5) << source.substr(0, 100);
  }
  EXPECT_EQ(render("{{ 1" + repeated(" + 1", 500) + " }}"), "501");
}

TEST(ChatTemplate, marks_are_where_they_are_written) {
  const Template t("{% for c in 'añb' %}{{ c }}{% generation %}<{{ c }}>{% endgeneration %}{% endfor %}", "t");
  ASSERT_TRUE(t.has_generation());
  const Rendered r = t.render({});
  EXPECT_EQ(r.text, "a<a>ñ<ñ>b<b>");
  ASSERT_EQ(r.generations.size(), 3u);
  for (const auto& [begin, end] : r.generations) EXPECT_TRUE(r.text[begin] == '<' && r.text[end - 1] == '>');
}

}  // namespace megalith::chat
