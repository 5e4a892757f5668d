// Paths of a run that cannot be right, found before the device opens: so one answer has them with all other mistakes.
#pragma once
#include "settings/options.h"

namespace megalith {

// Adds to the options' mistakes: datasets that do not exist, and files where directories are wanted.
void find_mistaken_places(Options& options);

}  // namespace megalith
