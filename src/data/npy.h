// NumPy's .npy files (version 1.0) of one- and two-dimensional integer arrays.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "base/mapped_file.h"
#include "data/output_file.h"

namespace megalith {

struct NpyArray {
  std::string descr;  // NumPy's type name: "<i4", "<u4", ...
  i64 rows = 0;
  i64 columns = 0;  // 0: a one-dimensional array
  bool operator==(const NpyArray&) const = default;

  i64 bytes() const { return rows * (columns > 0 ? columns : 1) * (descr.back() - '0'); }
};

// All bytes before the data, a multiple of 64.
std::string npy_header(const NpyArray& array);

// Writes a file in chunks. Other processes and threads see the complete file or none, and may write the same file.
class NpyWriter {
 public:
  NpyWriter(const std::string& path, const NpyArray& array);
  template <class T>
  void write(std::span<const T> part) {
    file_.write_all(part);
  }
  void finish();  // call after the whole array is written, in C order

 private:
  OutputFile file_;
};

template <class T>
void save_npy(const std::string& path, const NpyArray& array, std::span<T> data) {
  NpyWriter writer(path, array);
  writer.write(std::span<const std::remove_const_t<T>>(data));
  writer.finish();
}

// Maps a file that has exactly this array after npy_header's bytes; null if it is missing or different.
std::shared_ptr<const MappedFile> map_npy(const std::string& path, const NpyArray& array);

}  // namespace megalith
