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

MatMul make_matmul(const GemmSpec& spec) {
  if (spec.a.dtype == DType::bf16 && has_matrix_tiles())
    if (auto it = onednn_matmul(spec)) return *it;
  return own_matmul(spec);
}

}  // namespace megalith::cpu
