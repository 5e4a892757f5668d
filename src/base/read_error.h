// Why a file cannot be read, in two kinds, since they ask for different things.
#pragma once
#include <stdexcept>
#include <string>

#include "base/check.h"

namespace megalith {

// The file or its disk is damaged, or it is not there: an older one, or a copy, may be whole.
struct DamagedFile : Error {
  using Error::Error;
};

// This process, or the system at this moment, does not get at it: too many open files, no permission, no memory, a
// server that is gone. That says nothing of the file. So it is no Error, like std::bad_alloc: what turns to another
// file where one is wrong lets it pass, and it ends the program with one line.
struct UnreachableFile : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// "cannot WHAT PATH: why: what to do", as one or the other. `error`: a system call's.
[[noreturn]] void throw_read_error(const char* what, const std::string& path, int error);

// Whether something has this name, be it damaged. UnreachableFile if that can't be told.
bool file_exists(const std::string& path);

}  // namespace megalith
