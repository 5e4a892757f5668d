#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokens/hf/regex.h"

#include <pcre2.h>

#include "base/check.h"
#include "tokens/unicode.h"

namespace megalith::hf {

struct Regex::State {
  std::string where;
  pcre2_code* code = nullptr;
  pcre2_match_data* match = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_jit_stack* stack = nullptr;
  std::string shadow;  // the text with U+0001 for each invalid byte

  ~State() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(match);
    pcre2_code_free(code);
  }
};

Regex::Regex(std::string_view pattern, std::string_view where) : state_(std::make_unique<State>()) {
  constexpr size_t kLongest = 20000;
  constexpr u32 kMostSteps = 2'000'000, kMostDepth = 2000, kMostHeapKiB = 64 << 10;
  check(pattern.size() <= kLongest, "{}: the pattern is {} bytes long: at most {} are possible", where, pattern.size(),
        kLongest);
  state_->where = where;
  const std::string text = to_pcre2(pattern, where);
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  state_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                               PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &at, context);
  pcre2_compile_context_free(context);
  if (!state_->code) {
    PCRE2_UCHAR message[200] = {};
    pcre2_get_error_message(error, message, sizeof(message));
    fail("{}: the pattern \"{}\" cannot be used: {}", where, pattern.substr(0, 200),
         reinterpret_cast<const char*>(message));
  }
  state_->match = pcre2_match_data_create_from_pattern(state_->code, nullptr);
  state_->context = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(state_->context, kMostSteps);
  pcre2_set_depth_limit(state_->context, kMostDepth);
  pcre2_set_heap_limit(state_->context, kMostHeapKiB);
  if (pcre2_jit_compile(state_->code, PCRE2_JIT_COMPLETE) == 0) {
    state_->stack = pcre2_jit_stack_create(32 << 10, 8 << 20, nullptr);
    if (state_->stack) pcre2_jit_stack_assign(state_->context, nullptr, state_->stack);
  }
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;

namespace {

// The text, or a copy of the same length with U+0001 for each byte that is not UTF-8.
std::string_view valid_text(std::string_view text, std::string& shadow) {
  const auto* bytes = reinterpret_cast<const u8*>(text.data());
  bool copied = false;
  for (size_t i = 0; i < text.size();) {
    if (bytes[i] < 0x80) {
      ++i;
      continue;
    }
    const Utf8Char c = read_utf8(bytes + i, text.size() - i);
    if (c.code_point == Utf8Char::kInvalid) {
      if (!copied) shadow = text, copied = true;
      shadow.replace(i, c.length, c.length, '\x01');
    }
    i += c.length;
  }
  return copied ? std::string_view(shadow) : text;
}

}  // namespace

void Regex::find_all(std::string_view all, std::vector<Span>& out) {
  out.clear();
  const std::string_view text = valid_text(all, state_->shadow);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  size_t last = std::string_view::npos;  // the end of the previous match
  for (size_t from = 0; from <= text.size();) {
    const int found =
        pcre2_match(state_->code, subject, text.size(), from, PCRE2_NO_UTF_CHECK, state_->match, state_->context);
    if (found == PCRE2_ERROR_NOMATCH) return;
    check(found >= 0, "{}: the pattern needs too many steps on a text of {} bytes (PCRE2 error {}): use a simpler one",
          state_->where, text.size(), found);
    const PCRE2_SIZE* span = pcre2_get_ovector_pointer(state_->match);
    const size_t begin = span[0], end = std::max(span[0], span[1]);
    const bool is_empty = begin == end;
    if (!(is_empty && begin == last)) out.push_back({begin, end}), last = end;
    from = end;
    if (is_empty) {
      if (end >= text.size()) return;
      from += read_utf8(reinterpret_cast<const u8*>(text.data()) + end, text.size() - end).length;
    }
  }
}

}  // namespace megalith::hf
