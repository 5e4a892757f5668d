#include "models/initial.h"

#include <cmath>

namespace megalith {

Initial initial_of(const ModelConfig& c, double std, i64 rows, i64 columns) {
  if (!c.init_method_xavier_uniform) return {.std = std};
  return {.std = std::sqrt(2.0 / double(rows + columns)), .uniform = true};
}

Initial initial_of_table(const ModelConfig& c, i64 rows) {
  const double own = c.embedding_init_method_std;
  if (own > 0 && own != c.init_method_std) return {.std = own};
  return initial_of(c, c.init_method_std, rows, c.hidden_size);
}

Initial initial_of_output(const ModelConfig& c, i64 rows, i64 columns) {
  return initial_of(c, c.init_method_std / std::sqrt(2.0 * double(c.num_layers)), rows, columns);
}

}  // namespace megalith
