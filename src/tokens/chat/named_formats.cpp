#include "tokens/chat/named_formats.h"

namespace megalith::chat {

namespace {

// The texts of turns are those of Megatron's formats of the same names. Text before {% generation %} is what
// Megatron's prefix lengths exclude from the loss.
constexpr std::string_view kNemotronH = R"(
{%- for message in messages -%}
{%- set text = message.content | trim -%}
{%- if message.role == 'system' -%}
{{ '<SPECIAL_10>System\n' ~ text ~ '\n' }}
{%- elif message.role == 'user' -%}
{{ '<SPECIAL_11>User\n' ~ text ~ '\n<SPECIAL_11>Assistant\n' }}
{%- elif message.role == 'assistant' -%}
{%- generation -%}
{{ text ~ '\n' }}
{%- endgeneration -%}
{%- endif -%}
{%- endfor -%})";

constexpr std::string_view kNemotronNanoV2 = R"(
{%- for message in messages -%}
{%- set plain = message.content.replace('/think', '').replace('/no_think', '') | trim -%}
{%- if message.role == 'system' -%}
{{ '<SPECIAL_10>System\n' ~ plain ~ '\n' }}
{%- elif message.role == 'user' -%}
{{ '<SPECIAL_11>User\n' ~ plain ~ '\n' }}
{%- elif message.role == 'assistant' -%}
{{ '<SPECIAL_11>Assistant\n' }}
{%- generation -%}
{{ message.content | trim ~ '\n<SPECIAL_12>\n' }}
{%- endgeneration -%}
{%- endif -%}
{%- endfor -%})";

constexpr std::string_view kIdentity = R"(
{%- for message in messages -%}
{%- if message.role == 'assistant' -%}
{%- generation -%}{{ message.content }}{%- endgeneration -%}
{%- else -%}
{{ message.content }}
{%- endif -%}
{%- endfor -%})";

constexpr std::string_view kChatMl = R"(
{%- for message in messages -%}
{{ '<|im_start|>' ~ message.role ~ '\n' }}
{%- if message.role == 'assistant' -%}
{%- generation -%}{{ message.content ~ '<|im_end|>' }}{%- endgeneration -%}
{%- else -%}
{{ message.content ~ '<|im_end|>' }}
{%- endif -%}
{{ '\n' }}
{%- endfor -%})";

constexpr std::string_view kLlama3 = R"(
{{- bos_token | default('<|begin_of_text|>') -}}
{%- for message in messages -%}
{{ '<|start_header_id|>' ~ message.role ~ '<|end_header_id|>\n\n' }}
{%- if message.role == 'assistant' -%}
{%- generation -%}{{ message.content | trim ~ '<|eot_id|>' }}{%- endgeneration -%}
{%- else -%}
{{ message.content | trim ~ '<|eot_id|>' }}
{%- endif -%}
{%- endfor -%})";

// A system message is a prefix of the first user message.
constexpr std::string_view kMistral = R"(
{%- set system = '' -%}
{%- set turns = messages -%}
{%- if messages[0].role == 'system' -%}
{%- set system = messages[0].content ~ '\n\n' -%}
{%- set turns = messages[1:] -%}
{%- endif -%}
{{- bos_token | default('<s>') -}}
{%- for message in turns -%}
{%- if (message.role == 'user') != (loop.index0 % 2 == 0) or message.role not in ['user', 'assistant'] -%}
{{ raise_exception('mistral wants user and assistant in turns, after one system message at most') }}
{%- elif message.role == 'user' -%}
{{ '[INST] ' ~ (system if loop.first else '') ~ message.content ~ ' [/INST]' }}
{%- else -%}
{%- generation -%}{{ ' ' ~ message.content ~ (eos_token | default('</s>')) }}{%- endgeneration -%}
{%- endif -%}
{%- endfor -%})";

constexpr NamedFormat kFormats[] = {
    {"nemotron-h-aligned", kNemotronH, "<SPECIAL_10> <SPECIAL_11>"},
    {"nemotron-nano-v2", kNemotronNanoV2, "<SPECIAL_10> <SPECIAL_11> <SPECIAL_12>"},
    {"identity", kIdentity, ""},
    {"chatml", kChatMl, "<|im_start|> <|im_end|>"},
    {"llama3", kLlama3, "<|start_header_id|> <|end_header_id|> <|eot_id|>"},
    {"mistral", kMistral, ""},
};

}  // namespace

std::span<const NamedFormat> named_formats() { return kFormats; }

}  // namespace megalith::chat
