// Files that a clone without Git LFS has in the place of large ones.
#pragma once
#include <string>

namespace megalith {

// Error if `path` is a Git LFS pointer of three lines instead of the file. A missing file is left to the reader.
void check_no_lfs_pointer(const std::string& path);

}  // namespace megalith
