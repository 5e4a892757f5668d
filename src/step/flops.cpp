#include "step/flops.h"

namespace megalith {

double attention_flops_per_token(const ModelConfig& c) {
  const double q = double(c.kv_channels) * double(c.num_attention_heads);
  return 6 * double(c.num_layers) * double(c.seq_length) * q;  // 2 matmuls of s x q, half of them masked
}

double head_flops_per_token(const ModelConfig& c) { return 6 * double(c.hidden_size) * double(c.padded_vocab_size); }

double flops_per_token(const ModelConfig& c) {
  const double h = double(c.hidden_size), layers = double(c.num_layers);
  const double q = double(c.kv_channels) * double(c.num_attention_heads),
               kv = double(c.kv_channels) * double(c.groups());
  const double mlp = h * double(c.ffn_hidden_size) * (c.gated() ? 3 : 2);
  const double projections = h * (q + 2 * kv) + q * h;
  return 6 * layers * (mlp + projections) + head_flops_per_token(c) + attention_flops_per_token(c);
}

double flops_per_iteration(const ModelConfig& c, i64 sequences) {
  return flops_per_token(c) * double(sequences) * double(c.seq_length);
}

double tflops_per_device(double flops, double seconds, i64 devices) {
  return flops / (seconds * 1e12 * double(devices));
}

}  // namespace megalith
