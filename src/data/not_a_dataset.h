// Explains why a path is not a dataset.
#pragma once
#include <string>

namespace megalith {

// Error if PREFIX.idx or PREFIX.bin is missing and the likely mistake is known: one of the two files, a text file, a
// folder, a quoted name.
void check_is_dataset(const std::string& prefix);

}  // namespace megalith
