#include "ckpt/torch/torch_zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

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

// The position of the record at the archive's end. A comment may follow, which PyTorch does not write.
i64 find_end(const FileRange& archive, const std::string& where) {
  for (const i64 comment : {i64{0}, i64{std::numeric_limits<u16>::max()}}) {
    const i64 tail = std::min(archive.size, kEndBytes + comment), first = archive.size - tail;
    const std::vector<std::byte> b = archive.bytes(first, tail);
    for (i64 at = tail - kEndBytes; at >= 0; --at)
      if (load<u32>(b, at) == kEnd) return first + at;
  }
  fail("{} is truncated: no zip directory at its end", where);
}

// From the records at the archive's end.
Directory find_directory(const FileRange& archive, const std::string& where) {
  const i64 size = archive.size;
  check(size >= kEndBytes && load<u32>(archive.bytes(0, 4), 0) == kLocal,
        "{} is not a zip archive of torch.save: damaged, or of PyTorch before 1.6", where);
  const i64 end = find_end(archive, where), locator = end - kLocatorBytes;
  const std::vector<std::byte> b = archive.bytes(end, kEndBytes);
  Directory d{load<u32>(b, 16), load<u32>(b, 12), load<u16>(b, 10)};
  const std::vector<std::byte> before = locator >= 0 ? archive.bytes(locator, kLocatorBytes) : std::vector<std::byte>();
  if (!before.empty() && load<u32>(before, 0) == kLocator64) {
    const u64 at = load<u64>(before, 8);
    const bool fits = at <= u64(locator) && locator - i64(at) >= kEnd64Bytes;
    const std::vector<std::byte> end64 = fits ? archive.bytes(i64(at), kEnd64Bytes) : std::vector<std::byte>();
    check(fits && load<u32>(end64, 0) == kEnd64, "{} is damaged: its zip64 directory is not at its offset", where);
    d = {load<i64>(end64, 48), load<i64>(end64, 40), load<i64>(end64, 32)};
  }
  check(d.begin >= 0 && d.size >= 0 && d.begin <= size && d.size <= size - d.begin && d.size <= TorchZip::kMaxWhole &&
            d.records >= 0 && d.records <= d.size / kCentralBytes,
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

u64 add_crc(u64 crc, std::span<const std::byte> bytes) {
  return ::crc32_z(uLong(crc), reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

}  // namespace

TorchZip::TorchZip(const FileRange& archive, std::string where) : archive_(archive), where_(std::move(where)) {
  const Directory d = find_directory(archive_, where_);
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
  const std::vector<std::byte> directory = archive_.bytes(begin, size);
  const std::span<const std::byte> b = directory;
  for (i64 at = 0, n = 0; n < records; ++n) {
    check(size - at >= kCentralBytes && load<u32>(b, at) == kCentral, "{} is damaged: record {} of its directory",
          where_, n);
    const i64 name_size = load<u16>(b, at + 28), extra_size = load<u16>(b, at + 30),
              comment_size = load<u16>(b, at + 32);
    check(size - at - kCentralBytes >= name_size + extra_size + comment_size,
          "{} is damaged: record {} of its directory is cut off", where_, n);
    ZipRecord r{
        .name = std::string(reinterpret_cast<const char*>(b.data()) + at + kCentralBytes, std::size_t(name_size)),
        .crc = load<u32>(b, at + 16)};
    u64 full = load<u32>(b, at + 24), packed = load<u32>(b, at + 20), header = load<u32>(b, at + 42);
    u64* const fields[] = {&full, &packed, &header};
    widen(b.subspan(std::size_t(at + kCentralBytes + name_size), std::size_t(extra_size)), fields, where_);
    check(load<u16>(b, at + 10) == 0 && full == packed, "{}: record {} is compressed: torch.save never does so", where_,
          r.name);
    r.begin = begin_of(header, full, r.name), r.size = i64(full);
    records_.push_back(std::move(r));
    at += kCentralBytes + name_size + extra_size + comment_size;
  }
}

// The offset of a record's bytes, after its header.
i64 TorchZip::begin_of(u64 header, u64 size, const std::string& name) const {
  const u64 total = u64(archive_.size);
  const bool fits = header <= total && total - header >= u64(kLocalBytes);
  const std::vector<std::byte> local = fits ? archive_.bytes(i64(header), kLocalBytes) : std::vector<std::byte>();
  check(fits && load<u32>(local, 0) == kLocal, "{} is damaged: record {} is not at its directory's offset", where_,
        name);
  const u64 skip = u64(kLocalBytes) + load<u16>(local, 26) + load<u16>(local, 28);
  check(total - header >= skip && total - header - skip >= size, "{} is truncated: record {} goes beyond its end",
        where_, name);
  return i64(header + skip);
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

std::vector<std::byte> TorchZip::bytes(const ZipRecord& record) const {
  check(record.size <= kMaxWhole, "{}: record {} has {} bytes, more than {}", where_, record.name, record.size,
        kMaxWhole);
  std::vector<std::byte> all = archive_.bytes(record.begin, record.size);
  check_sum(record, add_crc(0, all));
  return all;
}

void TorchZip::verify(const ZipRecord& record) const {
  constexpr i64 kPiece = i64{4} << 20;
  u64 crc = 0;
  std::vector<std::byte> piece;
  for (i64 at = 0; at < record.size; at += kPiece) {
    piece.resize(std::size_t(std::min(kPiece, record.size - at)));
    archive_.read(record.begin + at, piece);
    crc = add_crc(crc, piece);
  }
  check_sum(record, crc);
}

void TorchZip::check_sum(const ZipRecord& record, u64 crc) const {
  check(u32(crc) == record.crc, "{} is damaged: the checksum of record {} is {:08x}, not {:08x}", where_, record.name,
        crc, record.crc);
}

}  // namespace megalith
