// Attention's backward on Hopper computes where a tile of queries is, if they are all positions from 0 on. Otherwise it
// looks it up in runs of them. All positions cut into runs at the edges of tiles are the same tiles: the same bits.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/rng.h"
#include "exec/cuda/kernels/attention/attention_hopper.h"
#include "tests/exec_cuda/device_arrays.h"

namespace megalith::kernel_tests {

namespace {

struct Sizes {
  int s, b, g, r, d;
};

std::vector<bf16> numbers(u64 seed, i64 n) {
  std::vector<bf16> x;
  for (i64 i = 0; i < n; ++i) x.push_back(bf16(float(normal(mix_all(seed, i)))));
  return x;
}

std::vector<u16> bits(OnDevice<bf16>& x) {
  std::vector<u16> out;
  for (const bf16 v : x.host()) out.push_back(std::bit_cast<u16>(v));
  return out;
}

// `starts`: of the runs.
cuda::Indices cut(int s, const std::vector<int>& starts) {
  cuda::Indices x{.n = s, .runs = int(starts.size())};
  for (size_t i = 0; i < starts.size(); ++i) x.start[i] = x.place[i] = starts[i];
  return x;
}

struct Inputs {
  explicit Inputs(const Sizes& n)
      : queries(i64(n.s) * n.b * n.g * n.r * n.d),
        keys(queries / n.r),
        dout(numbers(1, queries)),
        q(numbers(2, queries)),
        k(numbers(3, keys)),
        v(numbers(4, keys)),
        o(numbers(5, queries)),
        lse(std::vector<float>(size_t(queries / n.d), float(std::log(n.s)))) {}

  i64 queries, keys;  // elements
  OnDevice<bf16> dout, q, k, v, o;
  OnDevice<float> lse;

  // dq, dk and dv.
  std::vector<std::vector<u16>> gradients(const Sizes& n, const cuda::Indices& positions) {
    cuda::AttentionSizes z{.dtype = DType::bf16,
                           .s = n.s,
                           .b = n.b,
                           .g = n.g,
                           .r = n.r,
                           .d = n.d,
                           .t = n.s,
                           .positions = positions,
                           .groups = {},
                           .heads = {},
                           .keys = {}};
    z.scale = 1 / std::sqrt(float(n.d));
    z.query_heads = n.g * n.r, z.key_heads = n.g;
    OnDevice<bf16> dq(std::vector<bf16>(size_t(queries), bf16(NAN))), dk(std::vector<bf16>(size_t(keys), bf16(NAN))),
        dv(std::vector<bf16>(size_t(keys), bf16(NAN)));
    OnDevice<float> workspace(std::vector<float>(size_t(cuda::hopper_grad_workspace(z)) / sizeof(float), NAN));
    const cuda::AttentionGradBuffers x{.dout = dout.get(),
                                       .q = q.get(),
                                       .k = k.get(),
                                       .v = v.get(),
                                       .o = o.get(),
                                       .lse = lse.get(),
                                       .rows = nullptr,
                                       .starts = nullptr,
                                       .lengths = nullptr,
                                       .dq = dq.get(),
                                       .dk = dk.get(),
                                       .dv = dv.get(),
                                       .workspace = reinterpret_cast<std::byte*>(workspace.get())};
    cuda::launch_hopper_grad(z, x, cuda::hopper_grad_maps(z, x), nullptr);
    return {bits(dq), bits(dk), bits(dv)};
  }
};

void same_bits(const Sizes& n, const std::vector<int>& starts) {
  SCOPED_TRACE(fmt::format("s {} b {} g {} r {} d {}, {} runs", n.s, n.b, n.g, n.r, n.d, starts.size()));
  Inputs ins(n);
  const auto plain = ins.gradients(n, cut(n.s, {0})), runs = ins.gradients(n, cut(n.s, starts));
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_TRUE(plain[i] == runs[i]) << "result " << i;
    EXPECT_TRUE(std::any_of(plain[i].begin(), plain[i].end(), [](u16 x) { return x << 1 & 0xffff; })) << "all are 0";
    EXPECT_TRUE(std::none_of(plain[i].begin(), plain[i].end(), [](u16 x) { return (x & 0x7fff) > 0x7f80; })) << "NaN";
  }
}

}  // namespace

TEST(AttentionRuns, give_the_bits_of_all_positions) {
  int capability = 0;
  cuda::check_cuda(cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, 0), "device");
  if (capability != 9) GTEST_SKIP() << "the kernel is Hopper's";
  for (int d : {64, 128}) {
    same_bits({1024, 2, 5, 1, d}, {0, 512});
    same_bits({1024, 1, 2, 4, d}, {0, 320});
    same_bits({1111, 1, 4, 1, d}, {0, 64, 128, 448, 1024});
    same_bits({190, 3, 2, 1, d}, {0, 128});
    same_bits({100, 1, 1, 8, d}, {0, 64});
  }
  same_bits({520, 1, 101, 1, 64}, {0, 128, 384});  // more heads than are under way at a time
}

}  // namespace megalith::kernel_tests
