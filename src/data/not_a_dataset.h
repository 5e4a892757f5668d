// What stands where a dataset is looked for.
#pragma once
#include <string>

namespace megalith {

// Error where PREFIX.idx or PREFIX.bin is not there and it can be told what was meant: one of the two files, a text, a
// folder, a name in quotes.
void check_is_dataset(const std::string& prefix);

}  // namespace megalith
