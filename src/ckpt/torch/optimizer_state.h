// Megatron-LM's optimizer state as tensors of the parameters' shapes: "optimizer.state.exp_avg.NAME". Several of its
// formats hold flat numbers, or lists; what they are of is worked out, and taken only if it is certain.
#pragma once
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "ckpt/tensors/tensor_reader.h"
#include "ckpt/tensors/tensor_table.h"

namespace megalith {

inline constexpr const char* kMegatronState = "optimizer.state.";
inline constexpr const char* kStateKinds[] = {"param", "exp_avg", "exp_avg_sq"};  // main value and both moments
inline constexpr const char* kMainKinds[] = {"param", "fp32_param"};  // with and without distributed optimizer

// It can't be told for certain which numbers belong to which parameter; what() says why.
struct UnplacedState : Error {
  using Error::Error;
};

template <class... A>
void want(bool ok, fmt::format_string<A...> text, A&&... args) {
  if (!ok) throw UnplacedState(fmt::format(text, std::forward<A>(args)...));
}

// Whether there is any of this kind. UnplacedState if there is of some of these weights, and not of others.
bool has_state(const TensorReader& state, std::string_view kind, const std::vector<NamedShape>& weights);

// The kinds of state PREFIX.KIND.WEIGHT that there are of these weights, main values left out. UnplacedState if a
// weight has none and others have, or if one of two kinds that are kept together is missing.
std::vector<std::string> kinds_of_state(const TensorReader& state, std::string_view prefix,
                                        const std::vector<NamedShape>& weights);

// UnplacedState unless the main values, rounded, are the weights, wherever that is looked at: some stretches of each
// parameter. Main values of the wrong place are almost never.
void check_main_values(const TensorReader& weights, const TensorReader& state);

}  // namespace megalith
