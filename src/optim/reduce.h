// Gradients' sums over the ranks that have terms of them: all-reduced where they lie, or of a bucket to each rank its
// part. In one graph, or begun in that of a pipeline's piece, which ends the gradients, and ended in the update's.
#pragma once
#include <string>
#include <vector>

#include "graph/builder.h"
#include "models/parameter.h"
#include "optim/buckets.h"

namespace megalith {

// How data goes between ranks. Beside other work: lanes are queues, one for gradients, one for weights.
struct Traffic {
  bool overlap_gradients = false, overlap_weights = false;
  bool overlap_tensor = false;   // transfers between tensor-parallel ranks
  bool ring = false;             // attention's keys and values go round the context-parallel ranks
  bool overlap_experts = false;  // tokens to experts and back, beside the shared expert
};
constexpr int kGradientLane = 1, kWeightLane = 2;

struct RankSum {
  std::string name;  // of the leaf that holds a rank's terms
  Value terms;       // that leaf's value when it has them all
  AxisSet axes;
  State to;    // kSame, or split: each rank has a part
  DType sent;  // between ranks: a narrower type than the terms' is rounded to once
};

// `gradients`: accumulators by parameter; of a piece's graph, which has not all, the others are {}.
std::vector<RankSum> sums_of_each(Builder& b, const std::vector<Parameter>& parameters,
                                  const std::vector<Value>& gradients, const Precision& precision);
std::vector<RankSum> sums_of_buckets(Builder& b, const std::vector<Bucket>& buckets,
                                     const std::vector<Value>& gradients, const Precision& precision);

// The sums, in the terms' precision.
std::vector<Value> reduce(Builder& b, const std::vector<RankSum>& sums, const Traffic& traffic);

// The same in two graphs: the second's programs wait for what the first's begun. What lies between them are leaves.
void begin_reduce(Builder& b, const std::vector<RankSum>& sums);
std::vector<Value> end_reduce(Builder& b, const std::vector<RankSum>& sums);

}  // namespace megalith
