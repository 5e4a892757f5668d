#include "exec/cpu/kernels/matmul.h"

#include <dnnl.hpp>

#include "onednn_matmul_desc.h"

namespace megalith::cpu {

namespace {

bool has_matrix_tiles() {
  const unsigned tiles = unsigned(dnnl::cpu_isa::avx512_core_amx);
  return (unsigned(dnnl::get_effective_cpu_isa()) & tiles) == tiles;
}

bool known(DType t) { return t == DType::f32 || t == DType::bf16; }
bool plain(const Matrix& x, i64 rows, i64 cols) {
  return (x.col == 1 && x.row >= cols) || (x.row == 1 && x.col >= rows);
}

dnnl::memory::desc describe(const Matrix& x, i64 rows, i64 cols) {
  const auto type = x.dtype == DType::f32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
  return {{rows, cols}, type, dnnl::memory::dims{x.row, x.col}};
}

// One product, ready to run.
class Primitive {
 public:
  Primitive(const GemmSpec& s, bool add)
      : engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_),
        a_(describe(s.a, s.m, s.k)),
        b_(describe(s.b, s.k, s.n)),
        c_(describe(s.c, s.m, s.n)) {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (add) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      attr.set_post_ops(sum);
    }
    const auto desc = matmul_desc(engine_, a_, b_, c_, attr);
    scratchpad_ = desc.scratchpad_desc();
    matmul_ = dnnl::matmul(desc);
  }

  i64 workspace() const { return i64(scratchpad_.get_size()); }

  void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* workspace) {
    auto input = [&](const dnnl::memory::desc& d, const std::byte* p) {
      return dnnl::memory(d, engine_, const_cast<std::byte*>(p));
    };
    matmul_.execute(stream_, {{DNNL_ARG_SRC, input(a_, a)},
                              {DNNL_ARG_WEIGHTS, input(b_, b)},
                              {DNNL_ARG_DST, dnnl::memory(c_, engine_, c)},
                              {DNNL_ARG_SCRATCHPAD, dnnl::memory(scratchpad_, engine_, workspace)}});
    stream_.wait();
  }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::memory::desc a_, b_, c_, scratchpad_;
  dnnl::matmul matmul_;
};

}  // namespace

MatMul own_matmul(const GemmSpec& spec) {
  const Gemm gemm(spec);
  return {gemm.workspace(),
          [gemm](auto* a, auto* b, auto* c, bool add, auto* workspace) { gemm.run(a, b, c, add, workspace); }};
}

std::optional<MatMul> onednn_matmul(const GemmSpec& s) {
  const bool types =
      known(s.a.dtype) && s.b.dtype == s.a.dtype && known(s.c.dtype) && size_of(s.c.dtype) >= size_of(s.a.dtype);
  if (!types || !plain(s.a, s.m, s.k) || !plain(s.b, s.k, s.n) || s.c.col != 1 || s.c.row < s.n) return {};
  const auto set = std::make_shared<Primitive>(s, false), added = std::make_shared<Primitive>(s, true);
  return MatMul{std::max(set->workspace(), added->workspace()),
                [set, added](auto* a, auto* b, auto* c, bool add, auto* workspace) {
                  (add ? added : set)->run(a, b, c, workspace);
                }};
}

// oneDNN reads a row-major right operand where it lies. When its rows are a multiple of 4 KiB apart, the rows of a tile
// fall into the same cache sets: 122 instead of 310 GFLOP/s for [256,768] x [768,3072]. Gemm packs it first.
static bool rows_collide(const Matrix& b) { return b.col == 1 && b.row * size_of(b.dtype) % 4096 == 0; }

// One product with a short k.
static MatMul make_one(const GemmSpec& spec) {
  const bool library = has_matrix_tiles();
  if (library)
    if (auto it = onednn_matmul(spec)) return *it;
  return own_matmul(spec);
}

// The sum over k in parts, each added to the result: with k = 50304 (the vocabulary) the right operand's part stays in
// cache for all rows of the left, 310 instead of 260 GFLOP/s.
static MatMul in_parts(const GemmSpec& spec, i64 parts) {
  const i64 most = (spec.k / parts + 63) / 64 * 64, last = spec.k - (parts - 1) * most;
  GemmSpec part = spec, end = spec;
  part.k = most, end.k = last;
  const MatMul each = make_one(part), rest = make_one(end);
  const i64 a_step = most * spec.a.col * size_of(spec.a.dtype), b_step = most * spec.b.row * size_of(spec.b.dtype);
  return {std::max(each.workspace, rest.workspace), [=](auto* a, auto* b, auto* c, bool add, auto* workspace) {
            for (i64 p = 0; p < parts; ++p)
              (p + 1 < parts ? each : rest).run(a + p * a_step, b + p * b_step, c, add || p > 0, workspace);
          }};
}

MatMul make_matmul(const GemmSpec& spec) {
  constexpr i64 kLong = 12288;  // of k; parts of half of it and more
  const i64 parts = (spec.k + kLong - 1) / kLong;
  return parts > 1 && spec.c.dtype == DType::f32 ? in_parts(spec, parts) : make_one(spec);
}

}  // namespace megalith::cpu
