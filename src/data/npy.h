// NumPy's .npy files (version 1.0) of one- and two-dimensional integer arrays.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "base/dtype.h"

namespace megalith {

struct NpyArray {
  std::string descr;  // NumPy's name of the type: "<i4", "<u4", ...
  i64 rows = 0;
  i64 columns = 0;  // 0: one dimension
  bool operator==(const NpyArray&) const = default;
};

// Everything before the data, a multiple of 64 bytes.
std::string npy_header(const NpyArray& array);

// Writes the file; `data` must hold the whole array in C order. Other processes see it whole or not at all.
void save_npy(const std::string& path, const NpyArray& array, std::span<const u8> data);

// Fills `data` from a file of exactly this array; false if the file is missing or is anything else.
bool load_npy(const std::string& path, const NpyArray& array, std::span<u8> data);

}  // namespace megalith
