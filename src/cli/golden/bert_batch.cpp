#include "cli/golden/bert_batch.h"

#include <algorithm>
#include <numeric>

namespace megalith {
namespace {

// The number of tokens of each row, which come before its padding.
std::vector<i32> lengths_of(const std::vector<i32>& mask, i64 seq_length) {
  std::vector<i32> out;
  for (auto row = mask.begin(); row != mask.end(); row += seq_length) {
    const auto end = std::find(row, row + seq_length, 0);
    check(std::all_of(end, row + seq_length, [](i32 m) { return m == 0; }),
          "a golden batch has padding between tokens");
    out.push_back(i32(end - row));
  }
  return out;
}

std::vector<i32> ints_or(GoldenFile& golden, const std::string& name, i64 count, i32 otherwise) {
  return golden.has(name) ? golden.ints(name) : std::vector<i32>(size_t(count), otherwise);
}

// Defaults of transformers: one token type, and no padding.
Batch of_text(GoldenFile& golden, const std::string& at, const char* text, const char* types, const char* mask) {
  Batch b;
  const Shape& shape = golden.shape(at + text);
  b.sequences = shape.at(0), b.seq_length = shape.at(1);
  const i64 tokens = b.sequences * b.seq_length;
  b.ints("tokens") = golden.ints(at + text), b.ints("types") = ints_or(golden, at + types, tokens, 0);
  b.ints("labels") = golden.ints(at + "labels");
  b.ints("lengths") = lengths_of(ints_or(golden, at + mask, tokens, 1), b.seq_length);
  b.longs("rows").resize(size_t(b.sequences));
  std::iota(b.longs("rows").begin(), b.longs("rows").end(), i64{0});
  return b;
}

}  // namespace

Batch megatron_bert_batch(GoldenFile& golden, int i) {
  const std::string at = fmt::format("batch{}.", i);
  Batch b = of_text(golden, at, "text", "types", "padding_mask");
  b.floats("loss_mask") = golden.floats(at + "loss_mask");
  b.ints("is_random") = golden.ints(at + "is_random");
  return b;
}

Batch hf_bert_batch(GoldenFile& golden, int i, bool pairs) {
  const std::string at = fmt::format("batch{}.", i);
  Batch b = of_text(golden, at, "input_ids", "token_type_ids", "attention_mask");
  for (const i32 label : b.ints("labels")) b.floats("loss_mask").push_back(label == -100 ? 0.0f : 1.0f);
  b.ints("is_random") = pairs ? golden.ints(at + "next_sentence_label") : std::vector<i32>(size_t(b.sequences), 0);
  return b;
}

double counted_tokens(const Batch& batch) {
  const std::vector<float>& mask = batch.floats("loss_mask");
  return std::accumulate(mask.begin(), mask.end(), 0.0);
}

bool has_token(const Batch& batch, i64 id) {
  const std::vector<i32>&tokens = batch.ints("tokens"), &lengths = batch.ints("lengths");
  for (size_t r = 0; r < lengths.size(); ++r) {
    const auto row = tokens.begin() + i64(r) * batch.seq_length;
    if (std::find(row, row + lengths[r], i32(id)) != row + lengths[r]) return true;
  }
  return false;
}

}  // namespace megalith
