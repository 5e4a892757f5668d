#include "tests/harness/tensor.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "base/rng.h"
#include "tests/harness/block.h"

namespace megalith::harness {

Tensor filled(const Shape& shape, double value) { return {shape, std::vector<double>(size_t(count(shape)), value)}; }

Tensor random_tensor(const Shape& shape, u64 seed) {
  Tensor t = filled(shape, 0);
  for (size_t i = 0; i < t.v.size(); ++i) t.v[i] = normal(mix_all(seed, i));
  return t;
}

Tensor random_integers(const Shape& shape, i64 below, u64 seed) {
  Tensor t = filled(shape, 0);
  for (size_t i = 0; i < t.v.size(); ++i) t.v[i] = double(mix_all(seed, i) % u64(below));
  return t;
}

double max_difference(const Tensor& a, const Tensor& b) {
  if (a.shape != b.shape) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (size_t i = 0; i < a.v.size(); ++i) {
    const double d = std::abs(a.v[i] - b.v[i]);
    if (!(d <= worst)) worst = std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
  }
  return worst;
}

double norm(const Tensor& a) {
  double sum = 0;
  for (double x : a.v) sum += x * x;
  return std::sqrt(sum);
}

Blocks place(const Mesh& mesh, const Type& type, const Tensor& logical, u64 seed) {
  check(logical.shape == type.shape, "place: got {}, the type is {}", to_string(logical.shape), to_string(type));
  Blocks out;
  for (int r = 0; r < mesh.num_ranks(); ++r) {
    std::vector<double> block;
    Block(mesh, type, r).each([&](const std::vector<i64>& at) { block.push_back(logical.v[flat(type.shape, at)]); });
    out.push_back(std::move(block));
  }
  if (type.layout.partial.empty()) return out;
  for (const std::vector<int>& group : mesh.groups(type.layout.partial))
    for (size_t k = 1; k < group.size(); ++k)
      for (size_t i = 0; i < out[group[k]].size(); ++i) {
        out[group[k]][i] = normal(mix_all(seed, k, i));
        out[group[0]][i] -= out[group[k]][i];
      }
  return out;
}

// If ranks hold candidates for a maximum, all get the maximum.
static void take_maxima(const Mesh& mesh, const Type& type, Blocks& blocks) {
  if (type.layout.max.empty()) return;
  for (const std::vector<int>& group : mesh.groups(type.layout.max)) {
    std::vector<double> most = blocks[group[0]];
    for (int r : group)
      for (size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], blocks[r][i]);
    for (int r : group) blocks[r] = most;
  }
}

Tensor assemble(const Mesh& mesh, const Type& type, const Blocks& given) {
  Blocks blocks = given;
  take_maxima(mesh, type, blocks);
  Tensor out = filled(type.shape, 0);
  std::map<Coord, int> first;  // by the coordinate on the axes on which ranks differ
  for (int r = 0; r < mesh.num_ranks(); ++r) {
    Coord key = mesh.coord(r);
    for (Axis a : kAllAxes) {
      const State s = type.layout.state(a);
      if (s == kSame || s == kCopy || s == kMax) key[int(a)] = 0;
    }
    const auto [it, is_new] = first.emplace(key, r);
    if (is_new) {
      size_t i = 0;
      Block(mesh, type, r).each([&](const std::vector<i64>& at) { out.v[flat(type.shape, at)] += blocks[r][i++]; });
    } else {
      const std::vector<double>&a = blocks[it->second], &b = blocks[r];
      check(a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0,
            "replicas differ: ranks {} and {} hold different bits of a {}", it->second, r, to_string(type));
    }
  }
  return out;
}

namespace {

template <class T>
std::vector<double> numbers(const std::byte* data, i64 n) {
  const T* p = reinterpret_cast<const T*>(data);
  std::vector<double> out;
  for (i64 i = 0; i < n; ++i) out.push_back(double(p[i]));
  return out;
}

template <class T>
void store(const std::vector<double>& v, std::byte* data) {
  T* p = reinterpret_cast<T*>(data);
  for (size_t i = 0; i < v.size(); ++i) p[i] = T(v[i]);
}

}  // namespace

std::vector<double> from_bytes(DType dtype, const std::byte* data, i64 n) {
  switch (dtype) {
    case DType::f64:
      return numbers<double>(data, n);
    case DType::f32:
      return numbers<float>(data, n);
    case DType::i32:
      return numbers<i32>(data, n);
    case DType::i64:
      return numbers<i64>(data, n);
    case DType::bf16:
      return numbers<bf16>(data, n);
    case DType::f16:
      return numbers<f16>(data, n);
    case DType::f8_e4m3:  // codes, which are only moved
    case DType::f8_e5m2:
    case DType::u8:
      return numbers<u8>(data, n);
    default:
      fail("the harness does not read {}", name_of(dtype));
  }
}

void to_bytes(DType dtype, const std::vector<double>& v, std::byte* data) {
  switch (dtype) {
    case DType::f64:
      return store<double>(v, data);
    case DType::f32:
      return store<float>(v, data);
    case DType::i32:
      return store<i32>(v, data);
    case DType::i64:
      return store<i64>(v, data);
    case DType::bf16:
      return store<bf16>(v, data);
    case DType::f16:
      return store<f16>(v, data);
    case DType::f8_e4m3:
    case DType::f8_e5m2:
    case DType::u8:
      return store<u8>(v, data);
    default:
      fail("the harness does not write {}", name_of(dtype));
  }
}

}  // namespace megalith::harness
