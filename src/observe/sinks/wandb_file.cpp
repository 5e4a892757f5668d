#include "observe/sinks/wandb_file.h"

#include <zlib.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "observe/sinks/protobuf.h"

namespace megalith {

namespace {

constexpr i64 kBlock = 32768, kFrame = 7;
constexpr u8 kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4;  // types of a record's fragments in a block
constexpr std::string_view kReader = "0.70.0";               // the oldest wandb version that can read it

std::string framed(u8 type, std::string_view part) {
  const auto bytes = [](std::string_view s) { return reinterpret_cast<const Bytef*>(s.data()); };
  const uLong crc = crc32(crc32(0, &type, 1), bytes(part), uInt(part.size()));
  std::string out = little_endian(u32(crc)) + little_endian(u16(part.size()));
  out += char(type);
  return out += part;
}

// A record for a file of this size.
std::string in_blocks(i64 at, std::string_view record) {
  std::string out;
  for (bool first = true;; first = false) {
    i64 left = kBlock - (at + i64(out.size())) % kBlock;
    if (left < kFrame) out.append(size_t(left), '\0'), left = kBlock;
    const std::string_view part = record.substr(0, size_t(left - kFrame));
    record.remove_prefix(part.size());
    const bool last = record.empty();
    out += framed(first ? (last ? kFull : kFirst) : (last ? kLast : kMiddle), part);
    if (last) return out;
  }
}

// Field numbers of wandb's wandb_internal.proto.
std::string item(int name_field, const std::pair<std::string, std::string>& item) {
  return Message().bytes(name_field, item.first).bytes(16, item.second).take();
}

Message& unless_empty(Message& m, int field, std::string_view text) { return text.empty() ? m : m.bytes(field, text); }

}  // namespace

std::string wandb_json(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return nlohmann::json(value).dump();
}

std::string wandb_json(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

WandbFile::WandbFile(const std::filesystem::path& path) : file_(path, "W&B file") { begin(); }

void WandbFile::begin() {
  size_ = records_ = 0;
  const std::string header = ":W&B" + little_endian(u16(0xBEE1)) + '\0';
  if (file_.append(header)) size_ = i64(header.size());
  const Message version = Message().bytes(1, "megalith").bytes(2, kReader);
  add_here(Message().bytes(21, Message().bytes(1, version)));
  if (!run_.empty()) add_here(run_);
}

void WandbFile::add(std::string_view fields) {
  if (file_.is_removed() && file_.replace(path())) begin();
  add_here(fields);
}

// One write per record, so a truncated file has complete records before the cut. Lost records get no number.
void WandbFile::add_here(std::string_view fields) {
  const std::string record = in_blocks(size_, Message().number(1, u64(records_ + 1)).take() + std::string(fields));
  if (!file_.append(record)) return;
  size_ += i64(record.size()), ++records_;
}

void WandbFile::run(const WandbRun& r) {
  Message config, m;
  for (const auto& pair : r.config) config.bytes(1, item(1, pair));
  unless_empty(m, 1, r.id), unless_empty(m, 2, r.entity), unless_empty(m, 3, r.project);
  m.bytes(4, config);
  unless_empty(m, 6, r.group), unless_empty(m, 8, r.name);
  for (const std::string& tag : r.tags) m.bytes(10, tag);
  unless_empty(m, 13, r.host);
  if (r.starting_step > 0) m.number(14, u64(r.starting_step));
  const i64 seconds = i64(r.started);
  Message started;
  started.number(1, u64(seconds)).number(2, u64((r.started - double(seconds)) * 1e9));
  const std::string fields = Message().bytes(17, m.bytes(17, started)).take();
  add(fields);
  run_ = fields;
}

void WandbFile::history(i64 step, const WandbItems& items) {
  Message m;
  for (const auto& pair : items) m.bytes(1, item(2, pair));
  add(Message().bytes(2, m.bytes(2, Message().number(1, u64(step)))));
}

void WandbFile::summary(const WandbItems& items) {
  Message m;
  for (const auto& pair : items) m.bytes(1, item(2, pair));
  add(Message().bytes(3, m));
}

void WandbFile::exit(int code, i64 runtime_seconds) {
  Message m;
  if (code != 0) m.number(1, u64(code));
  add(Message().bytes(18, m.number(2, u64(runtime_seconds))));
}

}  // namespace megalith
