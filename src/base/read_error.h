// The two kinds of reasons why a file cannot be read, which need different reactions.
#pragma once
#include <stdexcept>
#include <string>

#include "base/check.h"

namespace megalith {

// The file is missing, or it or its disk is damaged: an older file, or a copy, may be intact.
struct DamagedFile : Error {
  using Error::Error;
};

// This process, or the system at this moment, cannot access the file: too many open files, no permission, no memory,
// a lost server. That says nothing about the file's content. So it is no Error, like std::bad_alloc: code that tries
// another file after a damaged one does not catch it. It ends the program with one line.
struct UnreachableFile : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// "cannot WHAT PATH: why: what to do", as one or the other. `error`: a system call's.
[[noreturn]] void throw_read_error(const char* what, const std::string& path, int error);

// Whether the path exists, even damaged. UnreachableFile if that is unknown.
bool file_exists(const std::string& path);

}  // namespace megalith
