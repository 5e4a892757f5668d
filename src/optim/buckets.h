// Buckets: flat memory with the gradients, or the weights, of many parameters. Data-parallel ranks reduce-scatter and
// all-gather a bucket at once. This is the distributed optimizer (ZeRO-1; Rajbhandari et al. 2020): each rank reduces
// and updates its part of a bucket, then all ranks gather the new weights. docs/layouts.md, section 6.
//
// A bucket's value is [t, n]. t runs over the tensor-parallel ranks, which hold different parts of the parameters. n
// runs over one rank's memory: the local blocks of the members in order. Data-parallel ranks split n.
//
// A stacked bucket holds parameters that must not be split (Granularity::matrix). All have one type. The bucket's value
// is [k, ...], where k numbers them, and data-parallel ranks split k. Each rank updates as many parameters as the
// others; zeros fill up the last bucket.
#pragma once
#include <string>
#include <vector>

#include "base/precision.h"
#include "graph/builder.h"
#include "models/parameter.h"
#include "optim/config.h"

namespace megalith {

struct OptimizerState;

struct Bucket {
  std::string name;                  // "bucket 3"
  std::vector<size_t> members = {};  // parameters, in the order in which the backward ends
  std::vector<i64> places = {};      // elements of a rank's memory before each
  AxisSet reduced;                   // over these gradients are sums; the optimizer's state is cut over them
  bool decay = true;
  bool stacked = false;
  bool own_rate = false;             // has_own_rate
  std::vector<int> stages = {};      // see Parameter
  bool host = false;                 // the optimizer state is in the host's memory
  bool late = false;                 // its new weights are gathered by the programs that read them, not by the update
  bool coded = false;                // and as codes of fp8 (passes/gather_codes.h); a rank's part is in bf16
  Type gradient = {}, weights = {};  // whole on each of the reduced ranks
  Type shard = {};                   // cut; of the main weights
  // A rank's part of the new weights has its own leaf, separate from the main weights.
  int cut_dim() const { return stacked ? 0 : 1; }
  bool has_copy() const { return host || weights.dtype != shard.dtype; }
  DType precision() const { return coded ? DType::bf16 : weights.dtype; }  // of a rank's part of the new weights
  // The gradients' memory can hold the main weights at the start of a run (take_main).
  bool starts_in_gradients() const { return gradient.dtype == shard.dtype; }
};

// Whether the parameter follows --decoupled-lr: the word embeddings and the output layer, where it is given.
bool has_own_rate(const Parameter& parameter, const OptimizerConfig& config);

// Buckets of parameters whose gradients are sums over the same ranks, with the same decay, learning rate and optimizer.
// A bucket has about `size` elements (on one rank; 0: the larger of 40 million and 1 million x data-parallel ranks,
// Megatron's). `coded`: which parameters' weights are gathered as codes; null: none.
std::vector<Bucket> make_buckets(const Mesh& mesh, const std::vector<Parameter>& parameters, i64 size,
                                 const OptimizerConfig& config = {}, const Precision& precision = {},
                                 bool (*coded)(const std::string& parameter) = nullptr);

// The bucket's leaves. Gradients and weights have the members' layout; the state is one rank's part.
Value gradient_leaf(Builder& b, const Bucket& bucket);
Value weights_leaf(Builder& b, const Bucket& bucket);
Value weights_shard_leaf(Builder& b, const Bucket& bucket);  // in compute precision
Value main_leaf(Builder& b, const Bucket& bucket);
Value state_leaf(Builder& b, const Bucket& bucket, const OptimizerState& state);

// Places those of the members' weights and gradients that b's graph has in the buckets.
void place_members(Builder& b, const std::vector<Bucket>& buckets, const std::vector<Parameter>& parameters);

// Programs for the start of a run. take_main is for buckets with starts_in_gradients(). It copies each rank's part of
// the weights (main, and in compute precision) from the gradients' memory. There the first of the reduced ranks has a
// tensor's whole local block, and the others have zeros. spread_weights gathers the weights in compute precision on all
// ranks.
Graph take_main(const Mesh& mesh, const std::vector<Bucket>& buckets);
Graph spread_weights(const Mesh& mesh, const std::vector<Bucket>& buckets);

}  // namespace megalith
