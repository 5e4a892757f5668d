#include "cli/golden/t5_batch.h"

#include <algorithm>
#include <numeric>

namespace megalith {
namespace {

// Padding follows all tokens, so a sum gives a length.
Batch encoder_text(GoldenFile& golden, const std::string& at, const char* text, const char* mask) {
  Batch b;
  const Shape& shape = golden.shape(at + text);
  b.sequences = shape.at(0), b.seq_length = shape.at(1);
  b.ints("tokens") = golden.ints(at + text);
  for (i64 r = 0; r < b.sequences; ++r) b.longs("rows").push_back(r);
  if (!golden.has(at + mask)) return b;
  const std::vector<i32> there = golden.ints(at + mask);
  for (auto row = there.begin(); row != there.end(); row += b.seq_length)
    b.ints("lengths").push_back(std::accumulate(row, row + b.seq_length, 0));
  return b;
}

}  // namespace

Batch megatron_t5_batch(GoldenFile& golden, int i) {
  const std::string at = fmt::format("batch{}.", i);
  Batch b = encoder_text(golden, at, "text_enc", "enc_mask");
  b.ints("decoder_tokens") = golden.ints(at + "text_dec"), b.ints("labels") = golden.ints(at + "labels");
  b.floats("loss_mask") = golden.floats(at + "loss_mask");
  return b;
}

Batch hf_t5_batch(GoldenFile& golden, int i, i32 start, i32 pad) {
  const std::string at = fmt::format("batch{}.", i);
  Batch b = encoder_text(golden, at, "input_ids", "attention_mask");
  const std::vector<i32> labels = golden.ints(at + "labels");
  const size_t length = labels.size() / size_t(b.sequences);
  for (size_t k = 0; k < labels.size(); ++k) {
    const bool first = k % length == 0;
    b.ints("decoder_tokens").push_back(first ? start : labels[k - 1] >= 0 ? labels[k - 1] : pad);
    b.floats("loss_mask").push_back(labels[k] >= 0 ? 1.0f : 0.0f);
  }
  b.ints("labels") = labels;
  return b;
}

}  // namespace megalith
