// Flags of other programs for the job of `generate`.
#pragma once
#include <span>

#include "config/parse.h"

namespace megalith {

std::span<const config::OtherFlag> generate_others();

}  // namespace megalith
