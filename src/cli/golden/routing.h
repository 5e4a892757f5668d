// The router's choice in a layer, from outputs that a model may have:
//   NAME.choice  i32 [s,b,k]  the experts of each token's k slots; outside of [0,e): none, as capacity dropped it
//   NAME.probs   f32 [s,b,k]  the weights of these slots
// Either may be [s,b,e], with 0 for experts that are not chosen. NAME: "layer1", "mtp0". Tokens have the order of the
// golden files.
#pragma once
#include <optional>

#include "cli/golden/held_model.h"

namespace megalith {

// [tokens, e], 1 for a chosen expert, from the program's last run. Empty if the model has no such output.
std::optional<std::vector<float>> routing_map(const HeldModel& model, const std::string& program,
                                              const std::string& layer, i64 experts);
// [tokens, e], 0 for an expert that is not chosen.
std::optional<std::vector<float>> routing_probs(const HeldModel& model, const std::string& program,
                                                const std::string& layer, i64 experts);

}  // namespace megalith
