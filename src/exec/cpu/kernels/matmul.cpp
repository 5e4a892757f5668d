#include "exec/cpu/kernels/matmul.h"

#include <dnnl.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <tuple>

#include "base/threads.h"
#include "onednn_matmul_desc.h"

namespace megalith::cpu {

namespace {

bool known(DType t) { return t == DType::f32 || t == DType::bf16; }
bool plain(const Matrix& x, i64 rows, i64 cols) {
  return (x.col == 1 && x.row >= cols) || (x.row == 1 && x.col >= rows);
}

dnnl::memory::desc describe(const Matrix& x, i64 rows, i64 cols) {
  const auto type = x.dtype == DType::f32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
  return {{rows, cols}, type, dnnl::memory::dims{x.row, x.col}};
}

// While this object lives, oneDNN makes and runs primitives only on the calling thread. The threads of base/threads.h
// divide the work instead.
class OneThread {
 public:
  OneThread() { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_ = omp_get_max_threads();
};

// Some implementations pack blocks of their operands into memory of their own, outside of the scratchpad. This is the
// most that a product of this process packs on one thread. Measured (oneDNN 2.6): 1.5 MiB, of which malloc's gaps are
// most, and both operands, but at most 3 MiB.
std::atomic<i64>& packed_on_a_thread() {
  static std::atomic<i64> bytes = 0;
  return bytes;
}

void add_packed(const GemmSpec& s) {
  constexpr i64 kFixed = i64{1536} << 10, kMost = i64{3} << 20;
  std::atomic<i64>& most = packed_on_a_thread();
  const i64 bytes = std::min(kMost, kFixed + s.m * s.k * size_of(s.a.dtype) + s.k * s.n * size_of(s.b.dtype));
  for (i64 seen = most; seen < bytes && !most.compare_exchange_weak(seen, bytes);) {
  }
}

// One product on one thread, ready to run.
class Primitive {
 public:
  Primitive(const GemmSpec& s, bool add)
      : engine_(dnnl::engine::kind::cpu, 0),
        a_(describe(s.a, s.m, s.k)),
        b_(describe(s.b, s.k, s.n)),
        c_(describe(s.c, s.m, s.n)) {
    const OneThread alone;
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (add) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      attr.set_post_ops(sum);
    }
    const auto desc = matmul_desc(engine_, a_, b_, c_, attr);
    scratchpad_ = desc.scratchpad_desc();
    if (std::string_view(desc.impl_info_str()).starts_with("gemm")) add_packed(s);
    matmul_ = dnnl::matmul(desc);
  }

  i64 workspace() const { return i64(scratchpad_.get_size()); }

  void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* workspace) const {
    const OneThread alone;
    dnnl::stream stream(engine_);
    auto input = [&](const dnnl::memory::desc& d, const std::byte* p) {
      return dnnl::memory(d, engine_, const_cast<std::byte*>(p));
    };
    matmul_.execute(stream, {{DNNL_ARG_SRC, input(a_, a)},
                             {DNNL_ARG_WEIGHTS, input(b_, b)},
                             {DNNL_ARG_DST, dnnl::memory(c_, engine_, c)},
                             {DNNL_ARG_SCRATCHPAD, dnnl::memory(scratchpad_, engine_, workspace)}});
    stream.wait();
  }

 private:
  dnnl::engine engine_;
  dnnl::memory::desc a_, b_, c_, scratchpad_;
  dnnl::matmul matmul_;
};

// Splits the product along its longer side. All parts but the last have length `size`. The split affects rounding, so
// it depends only on the shape, and not on the threads.
struct Cut {
  bool columns;
  i64 size, parts;

  explicit Cut(const GemmSpec& s) : columns(s.n >= s.m) {
    constexpr i64 kUnit = 64, kMost = 32;
    const i64 n = columns ? s.n : s.m, even = (n + kMost - 1) / kMost;
    size = std::min(n, (even + kUnit - 1) / kUnit * kUnit);
    parts = (n + size - 1) / size;
  }
  GemmSpec part(GemmSpec s, i64 i) const {
    i64& n = columns ? s.n : s.m;
    n = std::min(size, n - i * size);
    return s;
  }
};

class OneDnn {
 public:
  OneDnn(const GemmSpec& s, bool add)
      : spec_(s), cut_(s), most_(std::make_shared<const Primitive>(cut_.part(s, 0), add)), last_(most_) {
    const GemmSpec last = cut_.part(s, cut_.parts - 1);
    if ((cut_.columns ? last.n : last.m) != cut_.size) last_ = std::make_shared<const Primitive>(last, add);
  }

  i64 workspace() const { return cut_.parts * each(); }

  void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* workspace) const {
    const auto move = [&](const Matrix& x, bool columns, i64 i) {
      return i * cut_.size * (columns ? x.col : x.row) * size_of(x.dtype);
    };
    run_parts(cut_.parts, [&](i64 i) {
      const i64 of_a = cut_.columns ? 0 : move(spec_.a, false, i), of_b = cut_.columns ? move(spec_.b, true, i) : 0;
      (i + 1 < cut_.parts ? most_ : last_)
          ->run(a + of_a, b + of_b, c + move(spec_.c, cut_.columns, i), workspace + i * each());
    });
  }

 private:
  i64 each() const { return (std::max(most_->workspace(), last_->workspace()) + 63) / 64 * 64; }

  GemmSpec spec_;
  Cut cut_;
  std::shared_ptr<const Primitive> most_, last_;  // the same object if all parts have the same size
};

// Creates the product of each shape once; layers share it. So its memory is included when the plan measures the
// process.
std::shared_ptr<const OneDnn> shared_product(const GemmSpec& s, bool add) {
  const auto of = [](const Matrix& x) { return std::tuple(x.dtype, x.row, x.col); };
  using Operand = std::tuple<DType, i64, i64>;
  using Key = std::tuple<i64, i64, i64, Operand, Operand, Operand, bool>;
  static std::mutex mutex;
  static std::map<Key, std::shared_ptr<const OneDnn>> products;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const OneDnn>& place = products[Key{s.m, s.n, s.k, of(s.a), of(s.b), of(s.c), add}];
  if (!place) place = std::make_shared<const OneDnn>(s, add);
  return place;
}

bool has(dnnl::cpu_isa x) { return (unsigned(dnnl::get_effective_cpu_isa()) & unsigned(x)) == unsigned(x); }

}  // namespace

static bool has_tiles() { return has(dnnl::cpu_isa::avx512_core_amx); }

// AMD's dot products (Zen 4 and later) have twice the rate of f32. Those of Intel CPUs are no faster than f32.
static bool has_fast_pairs() { return has_bf16_pairs() && __builtin_cpu_is("amd") != 0; }

bool has_fast_bf16() { return has_tiles() || has_fast_pairs(); }

i64 packed_bytes() { return num_threads() * packed_on_a_thread(); }

MatMul own_matmul(const GemmSpec& spec, bool pairs) {
  const Gemm gemm(spec, pairs);
  return {gemm.workspace(),
          [gemm](auto* a, auto* b, auto* c, bool add, auto* workspace) { gemm.run(a, b, c, add, workspace); }};
}

std::optional<MatMul> onednn_matmul(const GemmSpec& s) {
  const bool types =
      known(s.a.dtype) && s.b.dtype == s.a.dtype && known(s.c.dtype) && size_of(s.c.dtype) >= size_of(s.a.dtype);
  if (s.a.dtype == DType::bf16 && !has(dnnl::cpu_isa::avx512_core)) return {};
  if (!types || !plain(s.a, s.m, s.k) || !plain(s.b, s.k, s.n) || s.c.col != 1 || s.c.row < s.n) return {};
  const auto set = shared_product(s, false), added = shared_product(s, true);
  return MatMul{std::max(set->workspace(), added->workspace()),
                [set, added](auto* a, auto* b, auto* c, bool add, auto* workspace) {
                  (add ? added : set)->run(a, b, c, workspace);
                }};
}

MatMul make_row_matmul(const GemmSpec& spec) {
  if (spec.a.dtype == DType::bf16 && has_tiles())
    if (auto it = onednn_matmul(spec)) return *it;
  return own_matmul(spec, has_fast_pairs());
}

MatMul make_matmul(const GemmSpec& spec) {
  if (spec.a.dtype == DType::bf16 && has_fast_pairs() && spec.m == 1)
    if (auto it = onednn_matmul(spec)) return *it;
  return make_row_matmul(spec);
}

}  // namespace megalith::cpu
