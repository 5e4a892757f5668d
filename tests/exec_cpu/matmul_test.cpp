#include "exec/cpu/kernels/matmul.h"

#include "tests/kernels/einsum_definition.h"

namespace megalith::kernel_tests {

using cpu::MatMul, cpu::onednn_matmul, cpu::own_matmul;

// What make_matmul chooses depends on the CPU; both means are right on every CPU.
TEST(MatMul, library_and_own_agree) {
  for (DType in : {DType::f32, DType::bf16})
    for (DType out : {DType::f32, DType::bf16}) {
      if (in == DType::f32 && out == DType::bf16) continue;
      const GemmSpec s{33, 65, 129, {in, 129, 1}, {in, 1, 129}, {out, 65, 1}};
      const Tensor a = random_tensor(in, {33, 129}, 1), b = random_tensor(in, {65, 129}, 2),
                   c0 = random_tensor(out, {33, 65}, 3);
      const Want want = naive("mk,nk->mn", a, b);
      const auto library = onednn_matmul(s);
      ASSERT_TRUE(library);
      for (const MatMul& mm : {*library, own_matmul(s)})
        for (bool add : {false, true}) {
          Watched wa(a), wb(b), wc(c0), workspace(mm.workspace, 0xFF);
          mm.run(wa.data(), wb.data(), wc.data(), add, workspace.data());
          EXPECT_TRUE(wc.intact() && workspace.intact());
          expect_einsum(wc.tensor(c0.type), want, add ? c0.x : std::vector<double>{},
                        fmt::format("{}->{}", name_of(in), name_of(out)));
        }
    }
}

}  // namespace megalith::kernel_tests
