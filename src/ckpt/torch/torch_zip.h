// The zip container of torch.save: records stored without compression, so that they can be read in place. 64-bit sizes
// count. Format: APPNOTE.TXT of PKWARE; PyTorch writes it as caffe2/serialize/inline_container.cc does.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct ZipRecord {
  std::string name;  // without the archive's own folder: "data.pkl", "data/0"
  i64 begin = 0;     // of its bytes, from the start of the archive
  i64 size = 0;
  u32 crc = 0;
};

class TorchZip {
 public:
  // `bytes`: the whole archive; `where` names it in messages. Error if it is damaged, compressed or no such archive.
  TorchZip(std::span<const std::byte> bytes, std::string where);

  const std::vector<ZipRecord>& records() const { return records_; }
  const ZipRecord* find(std::string_view name) const;  // nullptr if absent
  const ZipRecord& at(std::string_view name) const;    // Error if absent
  std::span<const std::byte> bytes(const ZipRecord& record) const;
  // Error if its checksum is wrong. `done` is told of each piece that has been read (from the archive's start).
  using Done = std::function<void(i64 begin, i64 bytes)>;
  void verify(const ZipRecord& record, const Done& done = {}) const;
  const std::string& where() const { return where_; }

 private:
  void read_directory(i64 begin, i64 size, i64 records);

  std::span<const std::byte> bytes_;
  std::string where_;
  std::vector<ZipRecord> records_;
};

}  // namespace megalith
