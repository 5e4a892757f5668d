#include "models/xavier.h"

#include <cmath>

namespace megalith {

namespace {

struct Matrix {
  i64 rows, columns;
};

// Queries, keys and values are one matrix, and so are gate and up.
std::optional<Matrix> matrix_of(const std::string& name, const ModelConfig& c) {
  const i64 h = c.hidden_size, f = c.ffn_hidden_size, d = c.kv_channels;
  const auto is = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (is("word_embeddings") || is("output_layer")) return Matrix{c.padded_vocab_size, h};
  if (is("position_embeddings")) return Matrix{c.max_position_embeddings, h};
  if (is("linear_proj")) return Matrix{h, c.num_attention_heads * d};
  if (is("linear_q") || is("linear_k") || is("linear_v"))
    return Matrix{(c.num_attention_heads + 2 * c.num_query_groups) * d, h};
  if (is("linear_fc1")) return Matrix{(c.gated() ? 2 : 1) * f, h};
  if (is("linear_fc2")) return Matrix{h, f};
  return std::nullopt;
}

}  // namespace

std::optional<double> xavier_std(const std::string& name, const ModelConfig& c) {
  const bool weight = name.ends_with(".weight") && name.find("norm") == std::string::npos;
  if (!c.init_method_xavier_uniform || !weight) return std::nullopt;
  const bool own_std = c.embedding_init_method_std > 0 && c.embedding_init_method_std != c.init_method_std;
  if (own_std && name.starts_with("embedding.")) return std::nullopt;
  const auto matrix = matrix_of(name, c);
  if (!matrix) return std::nullopt;
  return std::sqrt(2.0 / double(matrix->rows + matrix->columns));
}

}  // namespace megalith
