#include "tokens/document_encoder.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/escape.h"
#include "tokens/line_hint.h"

namespace megalith {

DocumentEncoder::DocumentEncoder(const Tokenizer& tokenizer, DocumentOptions options)
    : encoder_(tokenizer.encoder()),
      options_(std::move(options)),
      splitter_(options_.keep_newlines),
      texts_(options_.keys.size()) {}

// As in Megatron, a text without tokens is dropped.
void DocumentEncoder::add_sequence(std::string_view text, EncodedDocuments& out) {
  constexpr size_t kMost = std::numeric_limits<i32>::max();
  const size_t before = out.tokens.size();
  encoder_->encode(text, out.tokens);
  const size_t count = out.tokens.size() - before;
  check(count < kMost, "a text of {} tokens is too long for one sequence: at most {} fit; split it", count, kMost - 1);
  if (count > 0) out.lengths.push_back(i32(count));
}

// As in Megatron, eod is appended to the last sequence, and an empty document stays, without eod.
void DocumentEncoder::add_document(std::span<const std::string_view> texts, EncodedDocuments& out) {
  const size_t before = out.lengths.size();
  for (const std::string_view text : texts) {
    if (!options_.split_sentences) {
      add_sequence(text, out);
      continue;
    }
    sentences_.clear();
    splitter_.split(text, sentences_);
    for (const std::string_view sentence : sentences_) add_sequence(sentence, out);
  }
  const size_t sequences = out.lengths.size() - before;
  if (sequences > 0 && options_.eod != Tokenizer::kNone) {
    out.tokens.push_back(options_.eod);
    ++out.lengths.back();
  }
  out.sequences.push_back(i32(sequences));
}

void DocumentEncoder::encode_line(InputKind kind, std::string_view line, EncodedChunk& out) {
  if (kind == InputKind::json_lines) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;  // no document
    json_.parse(line);
    for (size_t k = 0; k < texts_.size(); ++k) json_.strings_at(options_.keys[k], texts_[k]);
    for (size_t k = 0; k < texts_.size(); ++k) add_document(texts_[k], out.keys[k]);
    return;
  }
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!line.empty()) add_document({&line, 1}, out.keys[0]);
}

void DocumentEncoder::encode_lines(const InputChunk& chunk, EncodedChunk& out) {
  std::string_view rest = chunk.text();
  std::vector<EncodedDocuments::Size> before(out.keys.size());
  for (i64 number = chunk.first_line; !rest.empty(); ++number) {
    const size_t length = std::min(rest.find('\n'), rest.size());
    for (size_t k = 0; k < before.size(); ++k) before[k] = out.keys[k].size();
    try {
      encode_line(chunk.kind, rest.substr(0, length), out);
    } catch (const Error& e) {
      const std::string hint = chunk.kind == InputKind::json_lines ? line_hint(rest.substr(0, length)) : "";
      const std::string what =
          fmt::format("{}:{}: {}{}{}", chunk.file, number, escape_controls(e.what()), hint.empty() ? "" : "; ", hint);
      if (!options_.skip_bad_lines) throw Error(what);
      for (size_t k = 0; k < before.size(); ++k) out.keys[k].cut(before[k]);
      if (++out.bad_lines <= i64(EncodedChunk::kMostTold)) out.told.push_back(what);
    }
    rest.remove_prefix(std::min(length + 1, rest.size()));
  }
}

void DocumentEncoder::encode_whole(const InputChunk& chunk, EncodedChunk& out) {
  const std::string_view text = chunk.text();
  try {
    add_document({&text, 1}, out.keys[0]);
  } catch (const Error& e) {
    fail("{}: {}", chunk.file, escape_controls(e.what()));
  }
}

void DocumentEncoder::encode(const InputChunk& chunk, EncodedChunk& out) {
  out.keys.resize(texts_.size());
  for (EncodedDocuments& documents : out.keys) documents.cut({});
  out.bad_lines = 0;
  out.told.clear();
  chunk.kind == InputKind::whole_text ? encode_whole(chunk, out) : encode_lines(chunk, out);
}

}  // namespace megalith
