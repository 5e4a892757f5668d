#include "tokens/sentencepiece_normalizer.h"

#include "tokens/unicode.h"

namespace megalith {

SentencePieceNormalizer::SentencePieceNormalizer(const SentencePieceModel& model)
    : options_(model.normalizer), space_(options_.escape_spaces ? "\u2581" : " ") {
  if (!options_.table.empty()) table_.emplace(options_.table, "the table of replacements");
}

SentencePieceNormalizer::Prefix SentencePieceNormalizer::prefix(std::string_view text) const {
  if (table_) {
    if (const auto found = table_->longest(text)) return {found->text, found->length};
  }
  const Utf8Char c = read_utf8(reinterpret_cast<const u8*>(text.data()), text.size());
  if (c.code_point == Utf8Char::kInvalid) return {"\uFFFD", 1};
  return {text.substr(0, c.length), c.length};
}

void SentencePieceNormalizer::normalize(std::string_view text, std::string& out) const {
  out.clear();
  const bool few_spaces = options_.remove_extra_spaces;
  while (few_spaces && !text.empty()) {
    const Prefix p = prefix(text);
    if (p.result != " ") break;
    text.remove_prefix(p.length);
  }
  if (text.empty()) return;
  if (options_.dummy_prefix && !options_.space_as_suffix) out += space_;
  bool after_space = few_spaces;
  while (!text.empty()) {
    Prefix p = prefix(text);
    text.remove_prefix(p.length);
    while (after_space && p.result.starts_with(' ')) p.result.remove_prefix(1);
    if (p.result.empty()) continue;
    after_space = few_spaces && p.result.ends_with(' ');
    for (char c : p.result) c == ' ' ? out += space_ : out += c;
  }
  while (few_spaces && out.ends_with(space_)) out.resize(out.size() - space_.size());
  if (options_.dummy_prefix && options_.space_as_suffix) out += space_;
}

}  // namespace megalith
