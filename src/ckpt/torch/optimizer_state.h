// Megatron-LM's optimizer state as tensors of the parameters' shapes: "optimizer.state.exp_avg.NAME". Several of its
// formats store flat numbers, or lists. The mapping to parameters is inferred, and used only if it is certain.
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

// It is uncertain which numbers belong to which parameter; what() says why.
struct UnplacedState : Error {
  using Error::Error;
};

template <class... A>
void want(bool ok, fmt::format_string<A...> text, A&&... args) {
  if (!ok) throw UnplacedState(fmt::format(text, std::forward<A>(args)...));
}

// Whether there is state of this kind. UnplacedState if only some of these weights have it.
bool has_state(const TensorReader& state, std::string_view kind, const std::vector<NamedShape>& weights);

// The kinds of state PREFIX.KIND.WEIGHT of these weights, without main values. UnplacedState if a weight has none and
// others have, or if one of two kinds that belong together is missing.
std::vector<std::string> kinds_of_state(const TensorReader& state, std::string_view prefix,
                                        const std::vector<NamedShape>& weights);

// UnplacedState unless the main values, rounded, equal the weights in some sampled stretches of each parameter. Main
// values of another parameter almost never do.
void check_main_values(const TensorReader& weights, const TensorReader& state);

}  // namespace megalith
