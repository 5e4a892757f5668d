#include "ckpt/tensors/safetensors_header.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include "base/check.h"
#include "base/lfs_pointer.h"
#include "base/read_file.h"

namespace megalith {
namespace {

using nlohmann::json;

struct StoredType {
  std::string_view name;
  int bits;
};
// The format's types in its order.
constexpr StoredType kTypes[] = {{"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
                                 {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
                                 {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
                                 {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
                                 {"I64", 64},        {"U64", 64}};
constexpr i64 kMaxHeader = 100'000'000;
constexpr int kMaxDepth = 4;

std::string_view stored_name(DType t) {
  constexpr std::string_view names[kDTypes] = {"F32", "F64", "BF16", "F16", "I32",  "I64",     "U8",     "U16",
                                               "I16", "U32", "U64",  "I8",  "BOOL", "F8_E4M3", "F8_E5M2"};
  return names[int(t)];
}

std::optional<DType> type_of(std::string_view stored) {
  for (int i = 0; i < kDTypes; ++i)
    if (stored_name(DType(i)) == stored) return DType(i);
  return std::nullopt;
}

// Parses text and refuses input that the DOM would hide: duplicate names, and depths that the format never has.
json parse_strict(std::string_view text, const std::string& path) {
  std::vector<std::unordered_set<std::string>> names(kMaxDepth + 1);
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    check(depth <= kMaxDepth, "[safetensors] {}: the header is nested deeper than the format allows", path);
    if (event == json::parse_event_t::object_start) names[std::size_t(depth)].clear();
    if (event == json::parse_event_t::key) {
      const auto& name = value.get_ref<const std::string&>();
      check(names[std::size_t(depth) - 1].insert(name).second, "[safetensors] {}: the header names \"{}\" twice", path,
            name);
    }
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::exception&) {
    fail("[safetensors] {}: the header is not valid JSON; the file is damaged or of another format", path);
  }
}

i64 parse_size(const json& value, const std::string& what) {
  check(value.is_number_unsigned() && value.get<u64>() <= u64(std::numeric_limits<i64>::max()),
        "{} is {}: want an integer from 0", what, value.dump());
  return value.get<i64>();
}

// Elements times bits, or an Error where that leaves 64 bits or whole bytes.
i64 size_in_bytes(const Shape& shape, int bits, const std::string& what) {
  i64 n = bits;
  for (const i64 d : shape)
    check(!__builtin_mul_overflow(n, d, &n), "{}: shape {} is too large", what, to_string(shape));
  check(n % 8 == 0, "{}: {} elements of {} bits are not whole bytes", what, count(shape), bits);
  return n / 8;
}

TensorInfo parse_tensor(const std::string& name, const json& entry, const std::string& path) {
  const std::string what = fmt::format("[safetensors] {}: tensor \"{}\"", path, name);
  check(entry.is_object() && entry.size() == 3 && entry.contains("dtype") && entry.contains("shape") &&
            entry.contains("data_offsets"),
        "{} needs exactly dtype, shape and data_offsets", what);
  const json &type = entry["dtype"], &shape = entry["shape"], &offsets = entry["data_offsets"];
  check(type.is_string(), "{}: dtype is {}: want a string", what, type.dump());
  const auto* known = std::ranges::find(kTypes, type.get<std::string>(), &StoredType::name);
  check(known != std::end(kTypes), "{}: unknown dtype {}", what, type.dump());
  check(shape.is_array(), "{}: shape is {}: want an array", what, shape.dump());
  check_dims(shape.size(), what);
  check(offsets.is_array() && offsets.size() == 2, "{}: data_offsets is {}: want [begin, end]", what, offsets.dump());
  TensorInfo t{.name = name, .stored_type = std::string(known->name), .file = path};
  for (const json& d : shape) t.shape.push_back(parse_size(d, what + ": a size of its shape"));
  const i64 begin = parse_size(offsets[0], what + ": its begin"), end = parse_size(offsets[1], what + ": its end");
  t.offset = begin;
  t.bytes = size_in_bytes(t.shape, known->bits, what);
  check(begin <= end && end - begin == t.bytes, "{}: bytes {} to {} do not hold shape {} of {}", what, begin, end,
        to_string(t.shape), t.stored_type);
  return t;
}

std::map<std::string, std::string> parse_metadata(const json& entry, const std::string& path) {
  check(entry.is_object(), "[safetensors] {}: __metadata__ is not an object", path);
  std::map<std::string, std::string> result;
  for (const auto& [key, value] : entry.items()) {
    check(value.is_string(), "[safetensors] {}: __metadata__ \"{}\" is {}: want a string", path, key, value.dump());
    result[key] = value.get<std::string>();
  }
  return result;
}

// From the data's start, without gap or overlap, to the file's end.
void check_tiling(std::span<const TensorInfo> tensors, i64 size, const std::string& path) {
  i64 end = 0;
  for (const TensorInfo& t : tensors) {
    check(t.offset == end,
          "[safetensors] {}: tensor \"{}\" begins at byte {} of the data, but the one before it ends at {}", path,
          t.name, t.offset, end);
    end += t.bytes;
    check(end <= size, "[safetensors] {} is truncated: tensor \"{}\" ends at byte {} of the data, which has only {}",
          path, t.name, end, size);
  }
  check(end == size, "[safetensors] {}: the data has {} bytes, its tensors only {}", path, size, end);
}

}  // namespace

bool TensorInfo::is_readable() const { return type_of(stored_type).has_value(); }

DType TensorInfo::dtype() const {
  const auto type = type_of(stored_type);
  check(type.has_value(),
        "[safetensors] {}: tensor \"{}\" has type {}, which we cannot read; convert the file to BF16 or F32", file,
        name, stored_type);
  return *type;
}

std::vector<std::byte> read_safetensors_header(const ReadFile& file) {
  const std::string& path = file.path();
  check(file.size() >= 8, "[safetensors] {} is truncated: {} bytes, want at least 8", path, file.size());
  u64 length = 0;
  file.read(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > u64(kMaxHeader)) check_no_lfs_pointer(path);
  check(length <= u64(kMaxHeader),
        "[safetensors] {}: a header of {} bytes; the format allows {}: not a safetensors file", path, length,
        kMaxHeader);
  check(i64(length) <= file.size() - 8, "[safetensors] {} is truncated: a header of {} bytes in a file of {}", path,
        length, file.size());
  std::vector<std::byte> header(8 + length);
  file.read(0, header);
  return header;
}

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> bytes, i64 size, const std::string& path) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, bytes.size() - 8);
  check(text.starts_with('{'), "[safetensors] {}: the header does not start with '{{': not a safetensors file", path);
  SafetensorsHeader header;
  const json root = parse_strict(text, path);
  for (const auto& [name, entry] : root.items()) {
    if (name == "__metadata__")
      header.metadata = parse_metadata(entry, path);
    else
      header.tensors.push_back(parse_tensor(name, entry, path));
  }
  // Empty tensors share their offset with the next one: end decides, so that they come first.
  std::ranges::stable_sort(header.tensors, {},
                           [](const TensorInfo& t) { return std::pair(t.offset, t.offset + t.bytes); });
  check_tiling(header.tensors, size - i64(bytes.size()), path);
  for (TensorInfo& t : header.tensors) t.offset += i64(bytes.size());
  return header;
}

std::string format_safetensors_header(std::span<const TensorSpec> tensors,
                                      const std::map<std::string, std::string>& metadata) {
  std::string text = "{\"__metadata__\":" + json(metadata).dump();
  i64 offset = 0;
  for (const TensorSpec& t : tensors) {
    const i64 end = offset + bytes_of(t);
    text += fmt::format(",{}:{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}", json(t.name).dump(),
                        stored_name(t.dtype), json(t.shape).dump(), offset, end);
    offset = end;
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  check(i64(text.size()) <= kMaxHeader, "[safetensors] a header of {} bytes; the format allows {}: write several files",
        text.size(), kMaxHeader);
  const u64 length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + text;
}

int safetensors_rank(DType dtype) {
  return int(std::ranges::find(kTypes, stored_name(dtype), &StoredType::name) - std::begin(kTypes));
}

}  // namespace megalith
