#include "ckpt/inspect.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "ckpt/formats.h"

namespace megalith {
RawCheckpoint open_raw_checkpoint(const std::string& dir, const AnyOpenOptions& options) {
  const CheckpointPlace place = checkpoint_to_open(dir, options.format, options.iteration);
  RawCheckpoint raw{.format = place.format, .path = place.path};
  ways_of(place.format).look(place, options, raw);
  if (raw.held.empty())
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
