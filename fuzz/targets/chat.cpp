// Chats and their templates. The input is one byte that selects the template, then the JSON lines. For a template in
// the input, its text and a zero byte are between them.
#include <algorithm>

#include "fuzz/target.h"
#include "fuzz/tools.h"
#include "tokens/chat/chat_file.h"
#include "tokens/chat/named_formats.h"

namespace megalith::fuzz::chat {

using namespace megalith::chat;

namespace {

constexpr u8 kOwn = 0x40, kSkip = 0x80;

constexpr std::string_view kLines =
    "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi \\u00e9\\n\"}, {\"role\": \"assistant\", \"content\": "
    "\"a/think b\"}]}\n"
    "{\"messages\": [{\"role\": \"system\", \"content\": \" s \"}, {\"role\": \"user\", \"content\": \"\"}, {\"role\": "
    "\"assistant\", \"content\": \"x\", \"no\": null}], \"tools\": [{\"name\": \"f\", \"args\": [1, 2.5, true]}]}\n";

constexpr std::string_view kTemplates[] = {
    "{{ bos_token }}{% for m in messages %}{{ '<' + m['role'] + '>' + m.content | trim + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}",
    "{%- set ns = namespace(n=0, s='') -%}{%- for m in messages if m.content is string -%}{% set ns.n = ns.n + "
    "loop.index * 2 - 1 %}"
    "{%- if m.role == 'assistant' %}{% generation %}{{ m.content[::-1] ~ ns.n // 3 }}{% endgeneration %}"
    "{%- elif not loop.first or m.role in ['user', \"tool\"] -%}{{ m.content.split(' ')[0].upper().replace('H', 'j') "
    "}}{% else %}?"
    "{%- endif -%}{# c #}{%- endfor %}{{ tools | tojson(indent=2) if tools is not none else '' }}",
    "{% macro f(a, b=1) -%}{{ a | default('d') }}{{ b if b > 1 else -b }}{%- endmacro %}{% set x %}{{ f(2, b=3) }}{% "
    "endset %}{{ x }}"
    "{% for k, v in {'a': 1, 'b': [none, 1.5e3]}.items() %}{{ k }}={{ v }}{% if loop.last %}{% break %}{% endif %}{% "
    "endfor %}"
    "{% for m in messages %}{{ m.role | title }}{{ m.content[:-1] }}{{ (messages | map(attribute='role') | "
    "join('\\x2c\\u00e9'))[1:3] }}"
    "{{ messages | selectattr('role', 'equalto', 'user') | list | length % 2 }}{{ range(3) | list }}{{ 1 <= 2 < 3 and "
    "not false }}{% endfor %}",
    "{% raw %}{{ x }}{% endraw %}{% for m in messages %}{% if m.role == 'none' %}{{ raise_exception('no') }}{% endif "
    "%}{{ m.content }}|{%+ if 1 +%}"
    "{{ m.get('x', 'y') }}{% endif %}{{ strftime_now('%Y %b') }}{% endfor %}",
};

}  // namespace

void feed(std::string_view input, const std::string& scratch) {
  static const auto tokenizer = make_tokenizer({.type = "ByteTokenizer"});
  if (input.empty()) return;
  const u8 kind = u8(input[0]);
  input.remove_prefix(1);
  ChatFormat format =
      find_chat_format(std::string(named_formats()[kind % named_formats().size()].name), {}, "2025-01-02");
  if (kind & kOwn) {
    const size_t cut = std::min(input.find('\0'), input.size());
    format.text = Template(input.substr(0, cut), "t");
    input.remove_prefix(std::min(cut + 1, input.size()));
  }
  write(scratch, input);
  const Conversations c = read_chats(scratch, format, *tokenizer, {(kind & kSkip) != 0, tokenizer->eod()});
  expect(c.trained.size() == c.tokens.size() && c.begins.back() == i64(c.tokens.size()), "sizes do not agree");
  for (i64 i = 0; i < c.size(); ++i)
    expect(c.length(i) >= 1 && std::ranges::count(c.trained_of(i), u8{1}) > 0, "a conversation has nothing to learn");
  for (const i32 id : c.tokens) expect(id >= 0 && id <= 256, "an id is outside the vocabulary");
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (u8 k = 0; k < named_formats().size(); ++k) all.push_back(char(k | (k % 2 ? kSkip : 0)) + std::string(kLines));
  for (const std::string_view t : kTemplates) all.push_back(char(kOwn) + std::string(t) + '\0' + std::string(kLines));
  return all;
}

}  // namespace megalith::fuzz::chat
