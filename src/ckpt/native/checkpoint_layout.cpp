#include "ckpt/native/checkpoint_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/json_depth.h"
#include "base/json_field.h"
#include "base/parse_count.h"
#include "mesh/block_copy.h"

namespace megalith {
namespace {

using nlohmann::ordered_json;

constexpr int kVersion = 2;              // of version 1, each block is one chunk and headers have no checksums
constexpr i64 kMaxChunk = i64{1} << 40;  // bytes
constexpr const char* kFormat = "megalith-checkpoint";

std::string hex(u64 sum) { return fmt::format("{:016x}", sum); }

u64 parse_hex(const ordered_json& j) {
  const auto text = value_of<std::string>(j, "a checksum");
  u64 sum = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sum, 16);
  check(error == std::errc() && end == text.data() + text.size(), "a checksum is {}: want 16 digits of base 16",
        shown(j));
  return sum;
}

ordered_json to_json(const std::map<std::string, u64>& sums) {
  ordered_json out = ordered_json::object();
  for (const auto& [name, sum] : sums) out[name] = hex(sum);
  return out;
}

std::map<std::string, u64> parse_checksums(const ordered_json& j) {
  std::map<std::string, u64> out;
  for (const auto& [name, sum] : j.items()) out[name] = parse_hex(sum);
  return out;
}

ordered_json to_json(const CheckpointTensor& t) {
  ordered_json blocks = ordered_json::array();
  for (const TensorBlock& b : t.blocks) {
    ordered_json sums = ordered_json::array();
    for (const u64 sum : b.checksums) sums.push_back(hex(sum));
    blocks.push_back({{"file", b.file}, {"key", b.key}, {"offset", b.offset}, {"shape", b.shape}, {"xxh64", sums}});
  }
  return {{"name", t.name}, {"dtype", name_of(t.dtype)}, {"shape", t.shape}, {"blocks", blocks}};
}

DType parse_dtype(const std::string& name) {
  for (int i = 0; i < kDTypes; ++i)
    if (name_of(DType(i)) == name) return DType(i);
  fail("dtype {} is unknown", name);
}

Shape parse_shape(const ordered_json& j, std::size_t rank) {
  const auto shape = value_of<Shape>(j, "a shape");
  check(shape.size() == rank, "shape {} has not {} dimensions", to_string(shape), rank);
  i64 bits = 64;  // the largest element's
  for (const i64 d : shape)
    check(d >= 0 && !__builtin_mul_overflow(bits, std::max<i64>(d, 1), &bits), "shape {} is impossible",
          to_string(shape));
  return shape;
}

void parse_checksums(const ordered_json& sums, i64 chunk_bytes, i64 element, i64 bytes, TensorBlock& block) {
  block.chunk_bytes = sums.is_string() ? std::max<i64>(element, bytes) : chunk_bytes;
  check(block.chunk_bytes > 0 && block.chunk_bytes % element == 0 && (sums.is_string() || chunk_bytes <= kMaxChunk),
        "chunks of {} bytes are impossible", block.chunk_bytes);
  if (sums.is_string()) return void(block.checksums = {parse_hex(sums)});
  for (const ordered_json& sum : sums) block.checksums.push_back(parse_hex(sum));
  const i64 chunks = (bytes + chunk_bytes - 1) / chunk_bytes;
  check(i64(block.checksums.size()) == chunks, "{} has {} checksums for {} chunks", block.key, block.checksums.size(),
        chunks);
}

CheckpointTensor parse_tensor(const ordered_json& j, i64 chunk_bytes, bool whole) {
  CheckpointTensor t;
  t.name = field_as<std::string>(j, "name");
  t.dtype = parse_dtype(field_as<std::string>(j, "dtype"));
  const ordered_json& shape = field(j, "shape");
  check_dims(shape.size(), "tensor " + t.name);
  t.shape = parse_shape(shape, shape.size());
  for (const ordered_json& b : field(j, "blocks")) {
    TensorBlock block{.file = field_as<std::string>(b, "file"),
                      .key = field_as<std::string>(b, "key"),
                      .offset = parse_shape(field(b, "offset"), t.shape.size()),
                      .shape = parse_shape(field(b, "shape"), t.shape.size())};
    parse_checksums(field(b, "xxh64"), chunk_bytes, size_of(t.dtype), count(block.shape) * size_of(t.dtype), block);
    check(block.file.find('/') == std::string::npos, "file \"{}\" is outside the checkpoint", block.file);
    for (std::size_t d = 0; d < t.shape.size(); ++d)
      check(block.offset[d] + block.shape[d] <= t.shape[d], "a block of {} lies outside its shape", t.name);
    t.blocks.push_back(std::move(block));
  }
  const i64 elements = elements_of(t.blocks);
  check(!whole || elements == count(t.shape), "the blocks of {} have {} of {} elements", t.name, elements,
        count(t.shape));
  check(!whole || tiles(t.shape, t.blocks), "two blocks of {} overlap", t.name);
  return t;
}

ordered_json parse_part(const std::string& text, const char* what) {
  ordered_json part = ordered_json::parse(text, nullptr, false);
  check(part.is_object(), "[save] the {} of a checkpoint must be a JSON object, not: {}", what, text.substr(0, 80));
  return part;
}

}  // namespace

std::string format_manifest(const ManifestFile& file) {
  ordered_json j = {{"format", kFormat},
                    {"format_version", kVersion},
                    {"iteration", file.manifest.iteration},
                    {"consumed_samples", file.manifest.consumed_samples},
                    {"state", parse_part(file.manifest.state_json, "training state")},
                    {"config", parse_part(file.manifest.config_json, "config")},
                    {"chunk_bytes", kChunkBytes},
                    {"headers", to_json(file.headers)},
                    {"files", to_json(file.files)}};
  std::string text = j.dump(2);
  text.resize(text.size() - 2);  // "\n}": the tensors follow, one a line
  text += ",\n  \"tensors\": [";
  for (std::size_t i = 0; i < file.tensors.size(); ++i)
    text += (i == 0 ? "\n    " : ",\n    ") + to_json(file.tensors[i]).dump();
  return text + "\n  ]\n}\n";
}

ManifestFile parse_manifest(const std::string& text, const std::string& path, bool whole) {
  try {
    check(!is_nested_too_deep(text), "it is nested more than {} levels deep", kMaxJsonDepth);
    const ordered_json j = ordered_json::parse(text, nullptr, false);
    check(j.is_object(), "it is no JSON object");
    check(field(j, "format") == kFormat, "its format is {}", field(j, "format").dump());
    const i64 version = count_field(j, "format_version");
    if (version > kVersion)
      throw NewerCheckpoint(fmt::format("[load] {} has format version {}; this program reads up to {}: use a newer one",
                                        path, version, kVersion));
    ManifestFile file;
    file.manifest.iteration = count_field(j, "iteration");
    file.manifest.consumed_samples = count_field(j, "consumed_samples");
    file.manifest.config_json = field(j, "config").dump();
    file.manifest.state_json = field(j, "state").dump();
    const i64 chunk_bytes = j.contains("chunk_bytes") ? field_as<i64>(j, "chunk_bytes") : 0;
    for (const ordered_json& t : field(j, "tensors")) file.tensors.push_back(parse_tensor(t, chunk_bytes, whole));
    if (version > 1)
      file.headers = parse_checksums(field(j, "headers")), file.files = parse_checksums(field(j, "files"));
    return file;
  } catch (const NewerCheckpoint&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    throw DamagedCheckpoint(fmt::format("{} is not a checkpoint's manifest: {}", path, e.what()));
  }
}

std::string format_checksums(const std::map<std::string, u64>& checksums) {
  std::string text;
  for (const auto& [name, sum] : checksums) text += fmt::format("{:016x}  {}\n", sum, name);
  return text;
}

std::string iteration_name(i64 iteration) { return fmt::format("iter_{:07}", iteration); }

std::optional<i64> parse_iteration_name(const std::string& name) {
  if (!name.starts_with("iter_")) return std::nullopt;
  const auto iteration = parse_count(std::string_view(name).substr(5));
  return iteration && iteration_name(*iteration) == name ? iteration : std::nullopt;
}

// One that was replaced and is being deleted has both marks.
std::optional<MarkedName> parse_marked_name(const std::string& name) {
  for (const std::string mark : {kTemporary, kReplaced}) {
    const std::size_t at = name.rfind(mark);
    if (at == std::string::npos) continue;
    const std::string pid = name.substr(at + mark.size());
    if (!pid.empty() && std::ranges::all_of(pid, [](char c) { return c >= '0' && c <= '9'; }))
      return MarkedName{name.substr(0, at), pid, mark == kTemporary};
  }
  return std::nullopt;
}

std::vector<FoundCheckpoint> list_checkpoints(const std::string& dir) {
  std::vector<FoundCheckpoint> found;
  for (const std::string& name : list_directory(dir)) {
    const auto marked = parse_marked_name(name);
    if (marked && marked->is_temporary) continue;
    const auto iteration = parse_iteration_name(marked ? marked->place : name);
    const std::string path = (std::filesystem::path(dir) / name).string();
    std::error_code unknown;
    if (iteration && std::filesystem::is_directory(path, unknown)) found.push_back({*iteration, path});
  }
  // A replaced one counts as older than the one in its place.
  std::ranges::sort(found, [](const FoundCheckpoint& a, const FoundCheckpoint& b) {
    if (a.iteration != b.iteration) return a.iteration < b.iteration;
    return a.path.size() > b.path.size();
  });
  return found;
}

}  // namespace megalith
