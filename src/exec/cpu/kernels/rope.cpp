// Rotary embedding: rotates each pair by the angle position * freq_i. Cosines and sines are computed in f64. If
// positions are global indices, prepare() makes a table of them. Otherwise they are computed row by row.
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "base/threads.h"
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/magnitude.h"
#include "exec/cpu/vector.h"

namespace megalith::cpu {
namespace {

struct RopePlan {
  i64 s, b, heads, d, half;  // heads: all dims between b and d
  i64 first;                 // first dim that is rotated
  i64 turned;                // heads that are rotated
  int sign;
  bool interleaved, gives_amax;
  std::vector<double> freq;
  double amplitude;
};

template <class A>
void fill_turn(const RopePlan& p, double position, A* cosines, A* sines) {
  for (i64 i = 0; i < p.half; ++i) {
    const double angle = position * p.freq[i];
    cosines[i] = A(p.amplitude * std::cos(angle)), sines[i] = A(p.amplitude * p.sign * std::sin(angle));
  }
}

// Rotates one head with interleaved pairs.
template <class T>
void turn_neighbours(i64 half, const T* x, T* y, const accum_t<T>* cosines, const accum_t<T>* sines) {
  using A = accum_t<T>;
  for (i64 i = 0; i < half; ++i) {
    const A a = A(x[2 * i]), b = A(x[2 * i + 1]);
    y[2 * i] = T(a * cosines[i] - b * sines[i]);
    y[2 * i + 1] = T(b * cosines[i] + a * sines[i]);
  }
}

template <class T>
void turn_halves(i64 half, const T* x, T* y, const accum_t<T>* cosines, const accum_t<T>* sines) {
  using A = accum_t<T>;
  each_vector<A>(0, half, [&](i64 i, auto part) {
    const Vec<A> a = load(x + i, part), b = load(x + half + i, part), c = load(cosines + i, part),
                 s = load(sines + i, part);
    store(y + i, a * c - b * s, part);
    store(y + half + i, b * c + a * s, part);
  });
}

template <class T>
void turn_row(const RopePlan& p, const T* x, T* y, const accum_t<T>* cosines, const accum_t<T>* sines) {
  if (x != y && p.turned < p.heads)
    std::memcpy(static_cast<void*>(y + p.turned * p.d), x + p.turned * p.d,
                size_t((p.heads - p.turned) * p.d) * sizeof(T));
  const i64 end = p.first + 2 * p.half;
  for (i64 head = 0; head < p.turned; ++head, x += p.d, y += p.d) {
    if (p.interleaved)
      turn_neighbours(p.half, x + p.first, y + p.first, cosines, sines);
    else
      turn_halves(p.half, x + p.first, y + p.first, cosines, sines);
    if (x == y) continue;
    std::memcpy(static_cast<void*>(y), x, size_t(p.first) * sizeof(T));
    std::memcpy(static_cast<void*>(y + end), x + end, size_t(p.d - end) * sizeof(T));
  }
}

// Cosines [s, half], then sines. Kernels of all layers that rotate by the same angles share one table.
template <class A>
std::shared_ptr<const std::vector<A>> shared_table(const RopePlan& p, const std::vector<i64>& positions) {
  using Key = std::tuple<int, double, std::vector<double>, std::vector<i64>>;
  static std::mutex mutex;
  static std::map<Key, std::weak_ptr<const std::vector<A>>> tables;
  const std::lock_guard lock(mutex);
  std::erase_if(tables, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<const std::vector<A>>& place = tables[Key{p.sign, p.amplitude, p.freq, positions}];
  if (auto table = place.lock()) return table;
  const i64 n = p.s * p.half;
  auto table = std::make_shared<std::vector<A>>(2 * n);
  for (i64 i = 0; i < p.s; ++i)
    fill_turn(p, double(positions[i]), table->data() + i * p.half, table->data() + n + i * p.half);
  place = table;
  return table;
}

template <class T>
Kernel by_table(const RopePlan& p, const std::vector<i64>& positions) {
  using A = accum_t<T>;
  const i64 n = p.s * p.half;
  const auto table = shared_table<A>(p, positions);
  return {0, [p, n, table](const Args& a) {
            const AmaxOfParts amax(p.gives_amax ? a.out<float>(1) : nullptr);
            parallel_for(p.s * p.b, 8, [&](i64 row) {
              const A* cosines = table->data() + row / p.b * p.half;
              T* y = a.out<T>(0) + row * p.heads * p.d;
              turn_row(p, a.in<T>(0) + row * p.heads * p.d, y, cosines, cosines + n);
              amax.see(y, p.heads * p.d);
            });
          }};
}

template <class T>
Kernel by_input(const RopePlan& p) {
  using A = accum_t<T>;
  const i64 rows = p.s * p.b, parts = num_threads();
  return {parts * 2 * p.half * i64(sizeof(A)), [p, rows, parts](const Args& a) {
            const AmaxOfParts amax(p.gives_amax ? a.out<float>(1) : nullptr);
            parallel_for(parts, 1, [&](i64 part) {
              A* cosines = reinterpret_cast<A*>(a.workspace) + part * 2 * p.half;
              for (i64 row = rows * part / parts; row < rows * (part + 1) / parts; ++row) {
                fill_turn(p, double(a.in<i32>(1)[row]), cosines, cosines + p.half);
                T* y = a.out<T>(0) + row * p.heads * p.d;
                turn_row(p, a.in<T>(0) + row * p.heads * p.d, y, cosines, cosines + p.half);
                amax.see(y, p.heads * p.d);
              }
            });
          }};
}

}  // namespace

Kernel prepare(const Rope& op, const KernelContext& context) {
  const Shape x = context.in_shape(0);
  RopePlan p{.s = x[0],
             .b = x[1],
             .heads = 1,
             .d = x.back(),
             .half = op.freq.dims / 2,
             .first = op.first,
             .turned = 0,
             .sign = op.sign,
             .interleaved = op.interleaved,
             .gives_amax = op.gives_amax,
             .freq = op.freq.inverse(),
             .amplitude = op.freq.amplitude()};
  for (size_t i = 2; i + 1 < x.size(); ++i) p.heads *= x[i];
  p.turned = op.heads > 0 ? op.heads : p.heads;
  check(op.heads == 0 || (x.size() == 4 && op.heads <= p.heads), "[rope] the first {} heads of {} turn", op.heads,
        p.heads);
  check(op.freq.dims % 2 == 0 && op.first + op.freq.dims <= p.d,
        "[rope] {} of {} dims rotate after {}: want an even number, at most all", op.freq.dims, p.d, op.first);
  return dispatch_float(context.ins[0].dtype, [&]<class T>() {
    return op.positions ? by_input<T>(p) : by_table<T>(p, context.in_indices(0, 0));
  });
}

}  // namespace megalith::cpu
