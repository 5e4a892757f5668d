#include "wandb_reader.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace megalith {

static u64 varint(const std::string& m, size_t& at) {
  u64 value = 0;
  for (int shift = 0;; shift += 7) {
    const u8 byte = u8(m.at(at++));
    value |= u64(byte & 127) << shift;
    if (byte < 128) return value;
  }
}

std::vector<ProtoField> proto_fields(const std::string& m) {
  std::vector<ProtoField> fields;
  for (size_t at = 0; at < m.size();) {
    const u64 key = varint(m, at);
    ProtoField f{int(key >> 3), 0, {}};
    if ((key & 7) == 0) {
      f.value = varint(m, at);
    } else if ((key & 7) == 1 || (key & 7) == 5) {  // a double, a float
      f.bytes = m.substr(at, (key & 7) == 1 ? 8 : 4), at += f.bytes.size();
    } else {
      EXPECT_EQ(key & 7, 2u);
      const u64 size = varint(m, at);
      f.bytes = m.substr(at, size), at += size;
    }
    fields.push_back(std::move(f));
  }
  return fields;
}

std::vector<std::string> read_wandb(const std::string& file) {
  constexpr size_t kBlock = 32768, kFrame = 7;
  std::vector<std::string> records;
  std::string part;
  for (size_t at = kFrame; at + kFrame <= file.size();) {
    if (kBlock - at % kBlock < kFrame) {
      at += kBlock - at % kBlock;
      continue;
    }
    const auto byte = [&](size_t i) { return u32(u8(file[at + i])); };
    const u32 crc = byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24, size = byte(4) | byte(5) << 8;
    if (at + kFrame + size > file.size()) break;
    if (crc32(0, reinterpret_cast<const Bytef*>(file.data() + at + 6), size + 1) != crc) break;
    const u32 type = byte(6);
    part += file.substr(at + kFrame, size), at += kFrame + size;
    if (type == 1 || type == 4) records.push_back(std::move(part)), part.clear();
  }
  return records;
}

std::string record_part(const std::string& record, int number) {
  for (const ProtoField& f : proto_fields(record))
    if (f.number == number) return f.bytes;
  return {};
}

std::map<std::string, std::string> wandb_items(const std::string& part, int name_field) {
  std::map<std::string, std::string> items;
  for (const ProtoField& f : proto_fields(part))
    if (f.number == 1) items[record_part(f.bytes, name_field)] = record_part(f.bytes, 16);
  return items;
}

}  // namespace megalith
