#include "ckpt/torch/torch_zip_writer.h"

#include <zlib.h>

#include <algorithm>

#include "base/check.h"
#include "ckpt/torch/pickle_writer.h"
#include "ckpt/torch/torch_file.h"
#include "mesh/block_copy.h"

namespace megalith {
namespace {

constexpr i64 kAlign = 64;
constexpr u32 kSizeIn64 = 0xffffffff;

// Little-endian fields.
class Fields {
 public:
  template <class T>
  Fields& add(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  Fields& add_text(std::string_view text) {
    text_ += text;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

u16 flags_of(i64 size) { return size == 0 ? 0x0800 : 0x0808; }  // UTF-8 name; sizes after the data

void write_ends(TorchZipWriter& zip) {
  zip.record("version", "3\n");
  zip.record(".data/serialization_id", std::string(40, '0'));
}

}  // namespace

void pickle_tensor(PickleWriter& p, DType type, const Shape& shape) {
  const std::string storage(torch_storage_of(type));
  const bool untyped = storage.empty();
  p.call("torch._utils", untyped ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2", [&] {
    p.persistent([&] {
      p.text("storage");
      untyped ? p.global("torch.storage", "UntypedStorage") : p.global("torch", storage);
      p.text("0");
      p.text("cpu");
      p.integer(count(shape) * (untyped ? size_of(type) : 1));
    });
    p.integer(0);
    p.sizes(shape);
    p.sizes(row_major_strides(shape));
    p.boolean(false);
    p.call("collections", "OrderedDict", [] {});
    if (!untyped) return;
    p.global("torch", std::string(torch_name_of(type)));
    p.none();
  });
}

void TorchZipWriter::put(const std::string& bytes) {
  sink_(std::as_bytes(std::span(bytes)));
  at_ += i64(bytes.size());
}

void TorchZipWriter::begin(const std::string& name, i64 size) {
  Record r{.name = folder_ + "/" + name, .header = at_, .size = size};
  const bool wide = size > limit_;
  Fields extra;
  if (wide) extra.add(u16(1)).add(u16(16)).add(size).add(size);
  const i64 start = at_ + 30 + i64(r.name.size()) + i64(extra.text().size()) + 4;
  const i64 padding = (kAlign - start % kAlign) % kAlign;
  extra.add_text("FB").add(u16(padding)).add_text(std::string(std::size_t(padding), 'Z'));
  Fields header;
  header.add(u32(0x04034b50)).add(u16(wide ? 45 : 0)).add(flags_of(size)).add(u16(0)).add(u32(0)).add(u32(0));
  header.add(wide ? kSizeIn64 : u32(0)).add(wide ? kSizeIn64 : u32(0));
  header.add(u16(r.name.size())).add(u16(extra.text().size())).add_text(r.name).add_text(extra.text());
  put(header.text());
  records_.push_back(std::move(r));
}

void TorchZipWriter::write(std::span<const std::byte> bytes) {
  Record& r = records_.back();
  r.crc = u32(::crc32_z(r.crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  r.written += i64(bytes.size());
  sink_(bytes);
  at_ += i64(bytes.size());
}

void TorchZipWriter::end() {
  const Record& r = records_.back();
  check(r.written == r.size, "[zip] record {} has {} bytes, not {}", r.name, r.written, r.size);
  if (r.size == 0) return;
  Fields f;
  f.add(u32(0x08074b50)).add(r.crc);
  r.size > limit_ ? f.add(r.size).add(r.size) : f.add(u32(r.size)).add(u32(r.size));
  put(f.text());
}

void TorchZipWriter::record(const std::string& name, std::string_view bytes) {
  begin(name, i64(bytes.size()));
  write(std::as_bytes(std::span(bytes)));
  end();
}

std::string TorchZipWriter::directory_entry(const Record& r) const {
  const bool wide = r.size > limit_, far = r.header > limit_;
  Fields extra;
  if (wide || far) extra.add(u16(1)).add(u16((wide ? 16 : 0) + (far ? 8 : 0)));
  if (wide) extra.add(r.size).add(r.size);
  if (far) extra.add(r.header);
  Fields f;
  f.add(u32(0x02014b50)).add(u16(0)).add(u16(wide || far ? 45 : 0)).add(flags_of(r.size)).add(u16(0)).add(u32(0));
  f.add(r.crc).add(wide ? kSizeIn64 : u32(r.size)).add(wide ? kSizeIn64 : u32(r.size));
  f.add(u16(r.name.size())).add(u16(extra.text().size())).add(u16(0)).add(u16(0)).add(u16(0)).add(u32(0));
  f.add(far ? kSizeIn64 : u32(r.header)).add_text(r.name).add_text(extra.text());
  return f.text();
}

i64 TorchZipWriter::finish() {
  const i64 begin = at_, n = i64(records_.size());
  for (const Record& r : records_) put(directory_entry(r));
  const i64 end = at_, size = end - begin;
  Fields f;
  f.add(u32(0x06064b50)).add(u64(44)).add(u16(0x031e)).add(u16(45)).add(u32(0)).add(u32(0));
  f.add(n).add(n).add(size).add(begin);
  f.add(u32(0x07064b50)).add(u32(0)).add(end).add(u32(1));
  f.add(u32(0x06054b50)).add(u16(0)).add(u16(0)).add(u16(n)).add(u16(n)).add(u32(size));
  f.add(begin > limit_ ? kSizeIn64 : u32(begin)).add(u16(0));
  put(f.text());
  return at_;
}

TorchTensorWriter::TorchTensorWriter(TorchZipWriter::Sink sink, DType type, const Shape& shape)
    : zip_(std::move(sink)) {
  PickleWriter p;
  pickle_tensor(p, type, shape);
  zip_.record("data.pkl", p.finish());
  zip_.record("byteorder", "little");
  zip_.begin("data/0", count(shape) * size_of(type));
}

i64 TorchTensorWriter::finish() {
  zip_.end();
  write_ends(zip_);
  return zip_.finish();
}

std::string torch_archive(std::string_view pickle, const std::string& folder, std::string_view storage) {
  std::string out;
  TorchZipWriter zip(
      [&](std::span<const std::byte> b) { out.append(reinterpret_cast<const char*>(b.data()), b.size()); }, folder);
  zip.record("data.pkl", pickle);
  zip.record("byteorder", "little");
  if (!storage.empty()) zip.record("data/0", storage);
  write_ends(zip);
  zip.finish();
  return out;
}

std::string torch_archive_of_empty_tensor() {
  PickleWriter p;
  p.list([&] { pickle_tensor(p, DType::u8, {0}); });
  std::string out;
  TorchZipWriter zip(
      [&](std::span<const std::byte> b) { out.append(reinterpret_cast<const char*>(b.data()), b.size()); });
  zip.record("data.pkl", p.finish());
  zip.record("byteorder", "little");
  zip.record("data/0", "");
  write_ends(zip);
  zip.finish();
  return out;
}

}  // namespace megalith
