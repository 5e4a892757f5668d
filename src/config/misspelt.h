// Flags that were meant: what is near to a word that is no flag.
#pragma once
#include <string>
#include <string_view>

#include "config/parse.h"

namespace megalith::config {

// Letters to put in, take out or change.
i64 edit_distance(std::string_view a, std::string_view b);

// The field that an unknown flag means by a slip or two, "--num-layers" of "--num_layer": what is said of the flag is
// said of it. Empty if none is so near.
std::string misspelt_field(const FlagIndex& index, const std::string& flag);

}  // namespace megalith::config
