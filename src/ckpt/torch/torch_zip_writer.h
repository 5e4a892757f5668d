// Writes the zip container of torch.save sequentially; only the directory is kept in memory. Each record's bytes start
// at a multiple of 64 from the archive's start, as PyTorch requires.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/shape.h"

namespace megalith {

class PickleWriter;

class TorchZipWriter {
 public:
  using Sink = std::function<void(std::span<const std::byte>)>;

  // Sizes and places above `limit` are written with 64 bits; tests lower it.
  explicit TorchZipWriter(Sink sink, std::string folder = "archive", i64 limit = 0xfffffffe)
      : sink_(std::move(sink)), folder_(std::move(folder)), limit_(limit) {}

  void begin(const std::string& name, i64 size);  // then write() with exactly this many bytes, then end()
  void write(std::span<const std::byte> bytes);
  void end();
  void record(const std::string& name, std::string_view bytes);
  i64 finish();  // writes the directory; the archive's size

 private:
  struct Record {
    std::string name;
    i64 header = 0, size = 0, written = 0;
    u32 crc = 0;
  };
  void put(const std::string& bytes);
  std::string directory_entry(const Record& r) const;

  Sink sink_;
  std::string folder_;
  i64 limit_, at_ = 0;
  std::vector<Record> records_;
};

// A whole archive with one tensor: header() and footer() around its bytes, which `write` takes.
class TorchTensorWriter {
 public:
  TorchTensorWriter(TorchZipWriter::Sink sink, DType type, const Shape& shape);
  void write(std::span<const std::byte> bytes) { zip_.write(bytes); }
  i64 finish();

 private:
  TorchZipWriter zip_;
};

// Writes a contiguous tensor whose storage is the record data/0.
void pickle_tensor(PickleWriter& p, DType type, const Shape& shape);
// A complete archive of a pickle. `storage`: the record data/0 of the tensor in it, if there is one.
std::string torch_archive(std::string_view pickle, const std::string& folder, std::string_view storage = {});
// A complete archive of a list with one empty byte tensor.
std::string torch_archive_of_empty_tensor();

}  // namespace megalith
