// The neighbours of the samples of a run of pretrain-retro.
#pragma once
#include "comm/ranks.h"

namespace megalith {

// argv[0] is the command's name; its flags follow. All ranks call it with the same words, and share the work.
void retro_build(int argc, const char* const* argv, Ranks& ranks);

}  // namespace megalith
