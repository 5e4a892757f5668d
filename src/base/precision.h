// The precision of each part of a training step. The settings derive it from the flags; code that computes, stores or
// sends something reads its own part. A new precision is a new combination of values.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace megalith {

struct Precision {
  DType activations = DType::f32;                         // what ops read and write
  DType products = DType::f32;                            // what products with weights multiply
  DType parameters = DType::f32;                          // the weights that the model computes with
  DType main_parameters = DType::f32;                     // the weights that the optimizer updates
  DType gradients = DType::f32;                           // sums over micro-batches
  DType gradient_communication = DType::f32;              // sums over ranks
  DType residual = DType::f32;                            // of the residual stream
  std::map<std::string, DType, std::less<>> states = {};  // of the optimizer, by suffix; others: main_parameters

  DType state(std::string_view suffix) const;
  bool operator==(const Precision&) const = default;
};

// Weights and activations in one type; accumulators in f32, or in f64 for f64.
Precision computing_in(DType compute);

// In one line: "bf16: activations, products, residual stream, weights; f32: main weights, ...".
std::string to_string(const Precision& precision);

}  // namespace megalith
