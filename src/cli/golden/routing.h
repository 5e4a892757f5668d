// The router's choice in a layer, of which a model may have the outputs
//   NAME.choice  i32 [s,b,k]  the experts of each token's k slots; outside of [0,e): none, as capacity dropped it
//   NAME.probs   f32 [s,b,k]  the weights of these slots
// or either as [s,b,e], where 0 is not chosen. NAME: "layer1", "mtp0". Tokens are ordered as in the golden files.
#pragma once
#include <optional>

#include "cli/golden/held_model.h"

namespace megalith {

// [tokens, e], 1 where chosen. Of the program's last run; none if the model has no such output.
std::optional<std::vector<float>> routing_map(const HeldModel& model, const std::string& program,
                                              const std::string& layer, i64 experts);
// [tokens, e], 0 where not chosen.
std::optional<std::vector<float>> routing_probs(const HeldModel& model, const std::string& program,
                                                const std::string& layer, i64 experts);

}  // namespace megalith
