#include "data/npy.h"

#include <unistd.h>

#include <cstring>
#include <fstream>

#include <fmt/core.h>

#include "data/output_file.h"

namespace megalith {
namespace {

constexpr std::size_t kPrologue = 10;  // magic, version, length of the text

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

void save_npy(const std::string& path, const NpyArray& array, std::span<const u8> data) {
  OutputFile file(path, fmt::format(".partial-{}", ::getpid()));
  const std::string header = npy_header(array);
  file.write(header.data(), header.size());
  file.write_all(data);
  file.close();
  file.publish();
}

bool load_npy(const std::string& path, const NpyArray& array, std::span<u8> data) {
  std::ifstream file(path, std::ios::binary);
  std::string header = npy_header(array);
  const std::string expected = header;
  if (!file.read(header.data(), std::streamsize(header.size())) || header != expected) return false;
  if (!file.read(reinterpret_cast<char*>(data.data()), std::streamsize(data.size()))) return false;
  return file.peek() == std::ifstream::traits_type::eof();
}

}  // namespace megalith
