#include "data/npy.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/check.h"

namespace megalith {
namespace {

constexpr std::size_t kPrologue = 10;  // magic, version, length of the header text

}  // namespace

std::string npy_header(const NpyArray& array) {
  const std::string shape =
      array.columns > 0 ? fmt::format("{}, {}", array.rows, array.columns) : fmt::format("{},", array.rows);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", array.descr, shape);
  text.append(63 - (kPrologue + text.size()) % 64, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += char(text.size() & 255);
  header += char(text.size() >> 8);
  return header + text;
}

NpyWriter::NpyWriter(const std::string& path, const NpyArray& array) : file_(path, unique_suffix()) {
  const std::string header = npy_header(array);
  file_.write(header.data(), header.size());
}

void NpyWriter::finish() {
  file_.close();
  file_.publish();
}

std::shared_ptr<const MappedFile> map_npy(const std::string& path, const NpyArray& array) {
  const std::string header = npy_header(array);
  try {
    auto file = std::make_shared<const MappedFile>(path);
    const std::span<const u8> bytes = file->bytes();
    if (file->size() != i64(header.size()) + array.bytes()) return nullptr;
    if (!std::equal(header.begin(), header.end(), bytes.begin(), [](char a, u8 b) { return u8(a) == b; }))
      return nullptr;
    return file;
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace megalith
