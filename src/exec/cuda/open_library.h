// Libraries that are loaded at the first call of one of their functions (libraries.cpp, nccl/library.cpp).
#pragma once
#include <dlfcn.h>

#include <string>

#include "base/check.h"

namespace megalith::cuda {

// Opens a library by the name that the system's search finds; else the file that the build used.
inline void* open_library(const std::string& name, const char* built_with) {
  for (const char* path : {name.c_str(), built_with})
    if (void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL)) return library;
  fail("cannot load {}: {}: install it where the system looks, or name its folder in LD_LIBRARY_PATH", name, dlerror());
}

// A function of a library. Library: a type with open().
template <class Library, class Function>
Function* find(const char* name) {
  static void* const library = Library::open();
  void* const symbol = dlsym(library, name);
  check(symbol != nullptr, "the library that is loaded has no {}: {}", name, dlerror());
  return reinterpret_cast<Function*>(symbol);
}

}  // namespace megalith::cuda
