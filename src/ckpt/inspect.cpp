#include "ckpt/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/check.h"
#include "ckpt/hf/hf_weights.h"
#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/native/save_directory.h"
#include "ckpt/open_formats.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

void read_parts(const TensorStore& store, RawCheckpoint& raw) {
  for (std::size_t i = 0; i < store.tensors().size(); ++i) raw.parts.push_back(i64(store.boxes(i).size()));
}

void read_native(const std::string& dir, std::optional<i64> iteration, RawCheckpoint& raw) {
  Checkpoint checkpoint = open_checkpoint(dir, {.iteration = iteration, .whole = false, .or_older = false});
  raw.path = checkpoint.path();
  for (const CheckpointTensor& t : checkpoint.tensors()) {
    raw.parts.push_back(i64(t.blocks.size()));
    i64& held = raw.held.emplace_back(0);
    for (const TensorBlock& b : t.blocks) held += count(b.shape);
  }
  const std::string sums = read_text(raw.path + "/" + kChecksumFile);
  raw.checksums = fmt::format("xxh64 of {} files", std::ranges::count(sums, '\n'));
  raw.tensors = read_native_files(std::move(checkpoint));
}

void read_torch_dist(const std::string& path, RawCheckpoint& raw) {
  const TorchDist dist(path);
  dist.sums()->verify();
  read_parts(dist.tensors(), raw);
  raw.tensors = dist.share();
  raw.checksums = "crc32 of every tensor";
  if (!dist.objects().empty()) raw.notes.push_back(fmt::format("{} objects beside the tensors", dist.objects().size()));
  raw.unread = dist.unread();
}

void read_legacy(const std::string& path, RawCheckpoint& raw) {
  const TorchLegacy files(path);
  files.sums()->verify();
  read_parts(files.tensors(), raw);
  raw.tensors = files.share();
  raw.checksums = "crc32 of every file's records";
}

void read_hf(const std::string& dir, RawCheckpoint& raw) {
  const TensorFiles files = TensorFiles::open_directory(dir);
  raw.tensors = read_hf_files(files, &TensorInfo::is_readable);
  for (const TensorInfo& t : files.tensors())
    if (!t.is_readable()) raw.unread.push_back(fmt::format("{} ({})", t.name, t.stored_type));
}

}  // namespace

RawCheckpoint open_raw_checkpoint(const std::string& dir, const AnyOpenOptions& options) {
  RawCheckpoint raw{.format = format_to_open(dir, options)};
  const bool is_one = raw.format == CkptFormat::hf || format_of_one(dir);
  raw.path = is_one ? dir : read_save_directory(dir, {.exactly = options.iteration}).first().path;
  raw.mark = ReadMark(raw.path);
  switch (raw.format) {
    case CkptFormat::native:
      read_native(dir, options.iteration, raw);
      break;
    case CkptFormat::torch_dist:
      read_torch_dist(raw.path, raw);
      break;
    case CkptFormat::torch:
      read_legacy(raw.path, raw);
      break;
    case CkptFormat::hf:
      read_hf(dir, raw);
      raw.parts.assign(raw.tensors->tensors().size(), 1);
  }
  if (raw.format != CkptFormat::native)
    for (const TensorSpec& t : raw.tensors->tensors()) raw.held.push_back(count(t.shape));
  return raw;
}

TensorStats stats_of(const TensorReader& tensors, std::size_t i) {
  TensorStats s{.elements = count(tensors.tensors()[i].shape),
                .min = std::numeric_limits<double>::infinity(),
                .max = -std::numeric_limits<double>::infinity()};
  long double sum = 0, squares = 0;  // the square of an f64 may be more than an f64
  std::vector<double> values;        // hold all our types
  for_pieces(s.elements, [&](i64 begin, i64 n) {
    values.resize(std::size_t(n));
    tensors.read_range_as(i, begin, n, DType::f64, std::as_writable_bytes(std::span(values)).data());
    for (const double x : values) {
      if (std::isnan(x)) ++s.nan;
      if (std::isinf(x)) ++s.infinite;
      if (!std::isfinite(x)) continue;
      if (x == 0) ++s.zero;
      s.min = std::min(s.min, x), s.max = std::max(s.max, x);
      sum += x, squares += static_cast<long double>(x) * x;
    }
  });
  const i64 finite = s.elements - s.nan - s.infinite;
  s.norm = double(std::sqrt(squares));
  if (finite == 0) {
    s.min = s.max = 0;
    return s;
  }
  const long double mean = sum / finite, variance = squares / finite - mean * mean;
  s.mean = double(mean), s.deviation = double(std::sqrt(std::max(0.0L, variance)));
  return s;
}

TensorDifference difference(const TensorReader& a, std::size_t i, const TensorReader& b, std::size_t k) {
  const DType type = a.tensors()[i].dtype, other = b.tensors()[k].dtype;
  const bool same_type = type == other, numbers = is_float(type) && is_float(other);
  const i64 element = size_of(type);
  TensorDifference d;
  std::vector<std::byte> bits, other_bits;
  std::vector<double> values, other_values;
  const auto read = [](const TensorReader& from, std::size_t t, i64 begin, i64 n, std::vector<std::byte>& out) {
    out.resize(std::size_t(n * size_of(from.tensors()[t].dtype)));
    from.read_range(t, begin, n, out.data());
  };
  const auto unpack = [](DType stored, i64 n, const std::vector<std::byte>& in, std::vector<double>& out) {
    out.resize(std::size_t(n));
    if (is_float(stored))
      convert_elements(stored, in.data(), DType::f64, std::as_writable_bytes(std::span(out)).data(), n);
  };
  for_pieces(count(a.tensors()[i].shape), [&](i64 begin, i64 n) {
    read(a, i, begin, n, bits), read(b, k, begin, n, other_bits);
    if (same_type && bits == other_bits) return;
    unpack(type, n, bits, values), unpack(other, n, other_bits, other_values);
    for (i64 e = 0; e < n; ++e) {
      const double x = values[std::size_t(e)], y = other_values[std::size_t(e)];
      const bool same_value = x == y || (std::isnan(x) && std::isnan(y));
      if (same_type ? std::memcmp(&bits[std::size_t(e * element)], &other_bits[std::size_t(e * element)],
                                  std::size_t(element)) == 0
                    : same_value)
        continue;
      ++d.differing;
      if (!numbers || same_value) continue;
      const double gap =
          std::isfinite(x) && std::isfinite(y) ? std::abs(x - y) : std::numeric_limits<double>::infinity();
      d.max_abs = std::max(d.max_abs, gap);
      d.max_rel = std::max(d.max_rel, std::isfinite(gap) ? gap / std::max(std::abs(x), std::abs(y)) : gap);
    }
  });
  return d;
}

}  // namespace megalith
