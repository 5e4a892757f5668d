#include "tokens/document_encoder.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace megalith {

DocumentEncoder::DocumentEncoder(const Tokenizer& tokenizer, std::vector<std::string> keys, i32 eod)
    : encoder_(tokenizer.encoder()), keys_(std::move(keys)), eod_(eod) {}

// Megatron's rule: sentences without tokens are dropped, eod lengthens the last one, an empty document stays, without
// eod.
void DocumentEncoder::add_document(std::span<const std::string_view> sentences, EncodedDocuments& out) {
  constexpr size_t kMost = std::numeric_limits<i32>::max();
  i32 sequences = 0;
  for (const std::string_view sentence : sentences) {
    const size_t before = out.tokens.size();
    encoder_->encode(sentence, out.tokens);
    const size_t count = out.tokens.size() - before;
    check(count < kMost, "a text of {} tokens is too long for one sequence: at most {} fit; split it", count,
          kMost - 1);
    if (count == 0) continue;
    out.lengths.push_back(i32(count));
    ++sequences;
  }
  if (sequences > 0 && eod_ != Tokenizer::kNone) {
    out.tokens.push_back(eod_);
    ++out.lengths.back();
  }
  out.sequences.push_back(sequences);
}

void DocumentEncoder::encode_line(InputKind kind, std::string_view line, std::vector<EncodedDocuments>& out) {
  if (kind == InputKind::json_lines) {
    json_.parse(line);
    for (size_t k = 0; k < keys_.size(); ++k) {
      json_.strings_at(keys_[k], sentences_);
      add_document(sentences_, out[k]);
    }
    return;
  }
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!line.empty()) add_document({&line, 1}, out[0]);
}

void DocumentEncoder::encode(const InputChunk& chunk, std::vector<EncodedDocuments>& out) {
  out.resize(keys_.size());
  for (EncodedDocuments& documents : out) documents.clear();
  std::string_view rest = chunk.text();
  i64 line_number = chunk.first_line;
  try {
    if (chunk.kind == InputKind::whole_text) return add_document({&rest, 1}, out[0]);
    for (; !rest.empty(); ++line_number) {
      const size_t length = std::min(rest.find('\n'), rest.size());
      encode_line(chunk.kind, rest.substr(0, length), out);
      rest.remove_prefix(std::min(length + 1, rest.size()));
    }
  } catch (const Error& e) {
    fail("{}:{}: {}", chunk.file, line_number, e.what());
  }
}

}  // namespace megalith
