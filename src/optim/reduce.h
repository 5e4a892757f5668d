// Sums of gradients over ranks: all-reduce in place, or reduce-scatter of a bucket. Start and end are in one graph. In
// a pipeline the start is in the graph of a model piece, and the end in the update's graph.
#pragma once
#include <string>
#include <vector>

#include "graph/builder.h"
#include "models/parameter.h"
#include "optim/buckets.h"

namespace megalith {

// How data moves between ranks. With overlap: a lane for gradients, and one for weights.
struct Traffic {
  bool overlap_gradients = false, overlap_weights = false;
  bool overlap_tensor = false;   // transfers between tensor-parallel ranks
  bool ring = false;             // attention's keys and values go round the context-parallel ranks
  bool overlap_experts = false;  // dispatch and combine overlap with the shared expert
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

// The same in two graphs: programs of the second wait for transfers that the first started. The values between them are
// leaves.
void begin_reduce(Builder& b, const std::vector<RankSum>& sums);
std::vector<Value> end_reduce(Builder& b, const std::vector<RankSum>& sums);

}  // namespace megalith
