// The zip container of torch.save: records stored without compression, so that parts of one can be read. 64-bit sizes
// count. Format: APPNOTE.TXT of PKWARE; PyTorch writes it as caffe2/serialize/inline_container.cc does.
#pragma once
#include <string>
#include <vector>

#include "base/read_file.h"

namespace megalith {

struct ZipRecord {
  std::string name;  // without the archive's own folder: "data.pkl", "data/0"
  i64 begin = 0;     // of its bytes, from the start of the archive
  i64 size = 0;
  u32 crc = 0;
};

class TorchZip {
 public:
  // `archive`: its bytes; `where` names it in messages. Error if it is damaged, compressed, or not such an archive.
  TorchZip(const FileRange& archive, std::string where);

  const std::vector<ZipRecord>& records() const { return records_; }
  const ZipRecord* find(std::string_view name) const;  // nullptr if absent
  const ZipRecord& at(std::string_view name) const;    // Error if absent
  // All of one that is small, as pickles are: Error if it has more than kMaxWhole, or a wrong checksum.
  std::vector<std::byte> bytes(const ZipRecord& record) const;
  void verify(const ZipRecord& record) const;  // Error if its checksum is wrong
  const std::string& where() const { return where_; }

  static constexpr i64 kMaxWhole = i64{1} << 30;  // bytes; of a record read as a whole, and of the directory

 private:
  void read_directory(i64 begin, i64 size, i64 records);
  i64 begin_of(u64 header, u64 size, const std::string& name) const;
  void check_sum(const ZipRecord& record, u64 crc) const;

  FileRange archive_;
  std::string where_;
  std::vector<ZipRecord> records_;
};

}  // namespace megalith
