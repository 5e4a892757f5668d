#include "ckpt/torch/torch_zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace megalith {
namespace {

constexpr u32 kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
              kLocator64 = 0x07064b50;
constexpr i64 kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56, kCentralBytes = 46, kLocalBytes = 30;
constexpr u32 kIn64 = 0xffffffff;  // a size too large for its field: in the zip64 extra

template <class T>
T load(std::span<const std::byte> bytes, i64 at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

struct Directory {
  i64 begin, size, records;
};

// From the records at the archive's end.
Directory find_directory(std::span<const std::byte> b, const std::string& where) {
  const i64 size = i64(b.size());
  check(size >= kEndBytes && load<u32>(b, 0) == kLocal,
        "{} is not a zip archive of torch.save: damaged, or of PyTorch before 1.6", where);
  i64 end = size - kEndBytes;
  const i64 last = std::max<i64>(0, end - std::numeric_limits<u16>::max());
  while (end > last && load<u32>(b, end) != kEnd) --end;
  check(load<u32>(b, end) == kEnd, "{} is truncated: no zip directory at its end", where);
  Directory d{load<u32>(b, end + 16), load<u32>(b, end + 12), load<u16>(b, end + 10)};
  const i64 locator = end - kLocatorBytes;
  if (locator >= 0 && load<u32>(b, locator) == kLocator64) {
    const u64 at = load<u64>(b, locator + 8);
    check(at <= u64(locator) && locator - i64(at) >= kEnd64Bytes && load<u32>(b, i64(at)) == kEnd64,
          "{} is damaged: its zip64 directory is not where it says", where);
    d = {load<i64>(b, i64(at) + 48), load<i64>(b, i64(at) + 40), load<i64>(b, i64(at) + 32)};
  }
  check(d.begin >= 0 && d.size >= 0 && d.begin <= size && d.size <= size - d.begin && d.records >= 0 &&
            d.records <= d.size / kCentralBytes,
        "{} is damaged: its directory of {} records has {} bytes at {}", where, d.records, d.size, d.begin);
  return d;
}

// Replaces the fields that are too large for 32 bits, in this order, by those of the zip64 extra.
void widen(std::span<const std::byte> extra, std::span<u64* const> fields, const std::string& where) {
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const auto id = load<u16>(extra, i64(at)), size = load<u16>(extra, i64(at) + 2);
    check(at + 4 + size <= extra.size(), "{} is damaged: an extra field is cut off", where);
    std::size_t p = at + 4;
    for (u64* field : fields)
      if (id == 1 && *field == kIn64 && p + 8 <= at + 4 + size) *field = load<u64>(extra, i64(p)), p += 8;
    at += std::size_t{4} + size;
  }
}

}  // namespace

TorchZip::TorchZip(std::span<const std::byte> bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {
  const Directory d = find_directory(bytes_, where_);
  read_directory(d.begin, d.size, d.records);
  // All names begin with the archive's own folder.
  const auto main = std::ranges::find_if(
      records_, [](const ZipRecord& r) { return r.name == "data.pkl" || r.name.ends_with("/data.pkl"); });
  check(main != records_.end(), "{} holds no data.pkl: not a file of torch.save", where_);
  const std::string folder = main->name.substr(0, main->name.size() - std::string_view("data.pkl").size());
  for (ZipRecord& r : records_)
    if (r.name.starts_with(folder)) r.name.erase(0, folder.size());
}

void TorchZip::read_directory(i64 begin, i64 size, i64 records) {
  const i64 end = begin + size;
  for (i64 at = begin, n = 0; n < records; ++n) {
    check(end - at >= kCentralBytes && load<u32>(bytes_, at) == kCentral, "{} is damaged: record {} of its directory",
          where_, n);
    const i64 name_size = load<u16>(bytes_, at + 28), extra_size = load<u16>(bytes_, at + 30),
              comment_size = load<u16>(bytes_, at + 32);
    check(end - at - kCentralBytes >= name_size + extra_size + comment_size,
          "{} is damaged: record {} of its directory is cut off", where_, n);
    ZipRecord r{
        .name = std::string(reinterpret_cast<const char*>(bytes_.data()) + at + kCentralBytes, std::size_t(name_size)),
        .crc = load<u32>(bytes_, at + 16)};
    u64 full = load<u32>(bytes_, at + 24), packed = load<u32>(bytes_, at + 20), header = load<u32>(bytes_, at + 42);
    u64* const fields[] = {&full, &packed, &header};
    widen(bytes_.subspan(std::size_t(at + kCentralBytes + name_size), std::size_t(extra_size)), fields, where_);
    check(load<u16>(bytes_, at + 10) == 0 && full == packed, "{}: record {} is compressed: torch.save never does so",
          where_, r.name);
    const u64 total = bytes_.size();
    check(header <= total && total - header >= u64(kLocalBytes) && load<u32>(bytes_, i64(header)) == kLocal,
          "{} is damaged: record {} is not where its directory says", where_, r.name);
    const u64 skip = u64(kLocalBytes) + load<u16>(bytes_, i64(header) + 26) + load<u16>(bytes_, i64(header) + 28);
    check(total - header >= skip && total - header - skip >= full, "{} is truncated: record {} goes beyond its end",
          where_, r.name);
    r.begin = i64(header + skip), r.size = i64(full);
    records_.push_back(std::move(r));
    at += kCentralBytes + name_size + extra_size + comment_size;
  }
}

const ZipRecord* TorchZip::find(std::string_view name) const {
  const auto it = std::ranges::find(records_, name, &ZipRecord::name);
  return it == records_.end() ? nullptr : &*it;
}

const ZipRecord& TorchZip::at(std::string_view name) const {
  const ZipRecord* r = find(name);
  check(r != nullptr, "{} has no record {}", where_, name);
  return *r;
}

std::span<const std::byte> TorchZip::bytes(const ZipRecord& record) const {
  return bytes_.subspan(std::size_t(record.begin), std::size_t(record.size));
}

void TorchZip::verify(const ZipRecord& record, const Done& done) const {
  constexpr i64 kPiece = i64{16} << 20;
  const auto* data = reinterpret_cast<const Bytef*>(bytes(record).data());
  uLong crc = 0;
  for (i64 at = 0; at < record.size; at += kPiece) {
    const i64 n = std::min(kPiece, record.size - at);
    crc = ::crc32_z(crc, data + at, std::size_t(n));
    if (done) done(record.begin + at, n);
  }
  check(u32(crc) == record.crc, "{} is damaged: the checksum of record {} is {:08x}, not {:08x}", where_, record.name,
        crc, record.crc);
}

}  // namespace megalith
