// Suggestions for misspelt flags.
#pragma once
#include <string>
#include <string_view>

#include "config/parse.h"

namespace megalith::config {

// The number of letters to insert, delete or change.
i64 edit_distance(std::string_view a, std::string_view b);

// The field that an unknown flag probably means, "--num-layers" for "--num_layer", so messages about the flag apply
// to it. Empty if no flag is near enough.
std::string misspelt_field(const FlagIndex& index, const std::string& flag);

// The field that a refused flag asks for instead, "--lr". Empty if it names none.
std::string meant_field(const FlagIndex& index, const OtherFlag& refused);

}  // namespace megalith::config
