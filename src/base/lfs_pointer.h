// Files that a clone without Git LFS has in the place of large ones.
#pragma once
#include <string>

namespace megalith {

// Error where `path` holds three lines that stand for the file. What is not there is for the reader to tell.
void check_no_lfs_pointer(const std::string& path);

}  // namespace megalith
