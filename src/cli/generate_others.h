// Flags that other programs have for what `generate` does.
#pragma once
#include <span>

#include "config/parse.h"

namespace megalith {

std::span<const config::OtherFlag> generate_others();

}  // namespace megalith
