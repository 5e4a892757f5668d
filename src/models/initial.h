// Initial values of parameters.
#pragma once
#include "models/config.h"

namespace megalith {

// normal(mean, std), or uniform with this mean and deviation. Keyed by the parameter's name and global index.
struct Initial {
  double std = 0, mean = 0;
  bool uniform = false;
};

// The initial values of a matrix that Megatron draws at once, of `rows` x `columns`: normal with deviation `std`.
// With --init-method-xavier-uniform: uniform with deviation sqrt(2 / (rows + columns)) (Glorot and Bengio 2010).
Initial initial_of(const ModelConfig& config, double std, i64 rows, i64 columns);

// For the tables of words and positions. If --embedding-init-method-std differs from --init-method-std, it holds, also
// with Xavier.
Initial initial_of_table(const ModelConfig& config, i64 rows);

// For weights whose products are added to the residual stream: std / sqrt(2 layers).
Initial initial_of_output(const ModelConfig& config, i64 rows, i64 columns);

}  // namespace megalith
