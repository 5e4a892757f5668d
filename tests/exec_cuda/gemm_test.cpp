// Products with a matrix or a bias added, against their definition in double, for every algorithm that the library
// offers; and that what is measured is remembered.
#include "exec/cuda/products/gemm.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/rng.h"
#include "exec/cuda/kernel.h"
#include "exec/cuda/products/einsum.h"
#include "exec/cuda/products/gemm_choices.h"

namespace megalith::cuda {

namespace {

Device& device() {
  static Device one(0, "");
  return one;
}

// Numbers of a dtype on the GPU and, as doubles, here.
class Numbers {
 public:
  Numbers(DType dtype, i64 n, u64 seed) : dtype_(dtype), x_(size_t(n)) {
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&data_), size_t(n * size_of(dtype))), "test");
    for (size_t i = 0; i < x_.size(); ++i) {
      const float v = float(normal(mix_all(seed, i)));
      x_[i] = dtype == DType::bf16 ? float(bf16(v)) : v;
    }
    upload();
  }
  ~Numbers() { cudaFree(data_); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  void upload() {
    std::vector<std::byte> raw(x_.size() * size_t(size_of(dtype_)));
    for (size_t i = 0; i < x_.size(); ++i)
      if (dtype_ == DType::bf16)
        reinterpret_cast<bf16*>(raw.data())[i] = bf16(float(x_[i]));
      else
        reinterpret_cast<float*>(raw.data())[i] = float(x_[i]);
    check_cuda(cudaMemcpy(data_, raw.data(), raw.size(), cudaMemcpyDefault), "test");
  }
  std::byte* data() { return data_; }
  double operator[](i64 i) const { return x_[size_t(i)]; }
  std::vector<std::byte> bits() const {
    std::vector<std::byte> raw(x_.size() * size_t(size_of(dtype_)));
    check_cuda(cudaMemcpy(raw.data(), data_, raw.size(), cudaMemcpyDefault), "test");
    return raw;
  }
  double on_gpu(const std::vector<std::byte>& bits, i64 i) const {
    return dtype_ == DType::bf16 ? float(reinterpret_cast<const bf16*>(bits.data())[i])
                                 : reinterpret_cast<const float*>(bits.data())[i];
  }

 private:
  DType dtype_;
  std::vector<double> x_;
  std::byte* data_ = nullptr;
};

struct Case {
  i64 m, n, k, batch = 1;
  DType in = DType::bf16, out = DType::bf16;
  bool a_by_rows = true, b_by_rows = true, bias = false;
  enum Plus { kNone, kOther, kInPlace } plus = kNone;

  GemmProblem problem() const {
    GemmProblem p{{m, n, k, a_by_rows ? Matrix{in, k, 1} : Matrix{in, 1, m},
                   b_by_rows ? Matrix{in, n, 1} : Matrix{in, 1, k}, Matrix{out, n, 1}},
                  batch,
                  {m * k, k * n, m * n},
                  plus != kNone,
                  bias};
    p.alignment = batch > 1 ? size_of(in) : 256;
    return p;
  }
};

// Everything a case needs, and what should come out.
struct Trial {
  explicit Trial(const Case& c)
      : c(c),
        a(c.in, c.batch * c.m * c.k, 1),
        b(c.in, c.batch * c.k * c.n, 2),
        plus(c.out, c.batch * c.m * c.n, 3),
        bias(c.out, c.n, 4),
        problem(c.problem()) {}

  // The bits of y, which starts as `plus`'s numbers if it is added to in place, else as garbage.
  std::vector<std::byte> bits(Gemm& gemm) {
    Numbers y(c.out, c.batch * c.m * c.n, c.plus == Case::kInPlace ? 3 : 99);
    std::byte* workspace = nullptr;
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&workspace), size_t(gemm.workspace() + 1)), "test");
    check_cuda(cudaMemset(workspace, 0xFF, size_t(gemm.workspace() + 1)), "test");
    check_cuda(cudaDeviceSynchronize(), "test");
    gemm.run({a.data(), b.data(), y.data(),
              c.plus == Case::kNone      ? nullptr
              : c.plus == Case::kInPlace ? y.data()
                                         : plus.data(),
              c.bias ? bias.data() : nullptr, workspace, device().stream()});
    check_cuda(cudaStreamSynchronize(device().stream()), "test");
    cudaFree(workspace);
    return y.bits();
  }

  void expect(const std::vector<std::byte>& bits, const std::string& what) {
    const double unit = c.out == DType::bf16 ? 1.0 / 256 : 6e-8;
    const GemmSpec& s = problem.spec;
    for (i64 at = 0; at < c.batch * c.m * c.n; ++at) {
      const i64 t = at / (c.m * c.n), i = at / c.n % c.m, j = at % c.n;
      double sum = 0, size = 0;
      const auto add = [&](double term) { sum += term, size += std::abs(term); };
      for (i64 q = 0; q < c.k; ++q)
        add(a[t * c.m * c.k + i * s.a.row + q * s.a.col] * b[t * c.k * c.n + q * s.b.row + j * s.b.col]);
      const double product = std::abs(sum), more = c.plus != Case::kNone ? plus[at] : 0, shift = c.bias ? bias[j] : 0;
      // What may be rounded before something is added to it, in either order.
      double rounded = more || shift ? product : 0;
      if (more && shift) rounded += std::max(std::abs(sum + more), std::abs(sum + shift));
      add(more), add(shift);
      const double limit = unit * (std::abs(sum) + rounded) + double(c.k + 3) * 6e-8 * size;
      ASSERT_LE(std::abs(plus.on_gpu(bits, at) - sum), limit * 1.01) << what << " at " << at;
    }
  }

  Case c;
  Numbers a, b, plus, bias;
  GemmProblem problem;
};

void check_case(const Case& c, bool variants = false) {
  Trial run(c);
  const std::string what = to_string(run.problem);
  Gemm gemm(device(), run.problem);
  ASSERT_TRUE(gemm.possible()) << what;
  if (variants) EXPECT_GT(gemm.add_variants(), 0) << what;
  for (int algorithm = 0; algorithm < gemm.num_algorithms(); ++algorithm) {
    gemm.use_algorithm(algorithm);
    const auto bits = run.bits(gemm);
    run.expect(bits, fmt::format("{}, algorithm {}", what, algorithm));
    EXPECT_EQ(bits, run.bits(gemm)) << what << ": algorithm " << algorithm << " gave other bits";
  }
}

constexpr DType kF32 = DType::f32, kBf16 = DType::bf16;

}  // namespace

TEST(Gemm, adds_a_bias_and_a_matrix) {
  for (const auto& [in, out] : {std::pair{kBf16, kBf16}, {kBf16, kF32}, {kF32, kF32}})
    for (bool bias : {false, true})
      for (auto plus : {Case::kNone, Case::kOther, Case::kInPlace})
        for (const auto& [m, n, k] : {std::array<i64, 3>{96, 64, 128}, {33, 40, 72}, {17, 129, 7}, {1, 64, 33}})
          check_case({m, n, k, 1, in, out, true, true, bias, plus});
}

TEST(Gemm, all_ways_of_laying_operands_and_batches) {
  for (bool a : {true, false})
    for (bool b : {true, false})
      for (i64 batch : {1, 3}) {
        check_case({64, 48, 80, batch, kBf16, kBf16, a, b, true, Case::kOther});
        check_case({31, 50, 9, batch, kF32, kF32, a, b, false, Case::kInPlace});
      }
}

// Few blocks and a long sum: cut into parts, whose sums must be added in a fixed order.
TEST(Gemm, long_sums_have_the_same_bits_every_time) {
  check_case({64, 32, 20000, 1, kBf16, kBf16, true, false});
  check_case({64, 32, 20000, 1, kBf16, kF32, false, true, false, Case::kInPlace});
}

TEST(Gemm, what_the_library_lacks) {
  Case mixed{64, 64, 64};
  GemmProblem p = mixed.problem();
  p.spec.a.dtype = kF32;
  EXPECT_FALSE(Gemm(device(), p).possible());
  p = mixed.problem();
  p.spec.a = {kBf16, 128, 2};
  EXPECT_FALSE(Gemm(device(), p).possible());
}

TEST(Gemm, a_measured_choice_is_remembered) {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("gemm-choice-{}.json", ::getpid());
  Trial run({512, 384, 256, 1, kBf16, kF32, true, false, false, Case::kInPlace});
  const auto tune = [&](Gemm& gemm) {
    Numbers y(kF32, 512 * 384, 5), workspace(kF32, gemm.workspace() / 4 + 1, 6);
    gemm.tune({run.a.data(), run.b.data(), y.data(), y.data(), nullptr, workspace.data(), device().stream()});
  };
  std::vector<std::byte> bits;
  {
    Device first(0, file);
    const auto gemm = shared_gemm(first, run.problem);
    EXPECT_EQ(gemm, shared_gemm(first, run.problem));
    EXPECT_FALSE(gemm->chosen());
    tune(*gemm);
    EXPECT_TRUE(gemm->chosen());
    bits = run.bits(*gemm);
    run.expect(bits, "tuned");
  }
  {
    Device second(0, file);
    Gemm gemm(second, run.problem);
    EXPECT_TRUE(gemm.chosen());
    EXPECT_EQ(bits, run.bits(gemm));
    second.gemm_choices().add(to_string(run.problem), {std::vector<u8>(64, 0xAB), 1});
  }
  Device third(0, file);
  Gemm gemm(third, run.problem);
  EXPECT_FALSE(gemm.chosen()) << "took an algorithm that is none";
  run.expect(run.bits(gemm), "with a bad choice stored");
  std::filesystem::remove(file);
}

// What the library does not suggest computes the same; sizes at which tiles stick out.
TEST(Gemm, variants_are_right) {
  if (device().capability() != 90) GTEST_SKIP() << "only Hopper's kernels are varied";
  check_case({264, 200, 136, 1, kBf16, kBf16, true, true, true}, true);
  check_case({264, 200, 136, 1, kBf16, kF32, false, true, false, Case::kInPlace}, true);
}

// Where there are many waves of tiles, other tiles are varied. They may differ by rounding to bf16, of a product of
// about the result's size, and by the sums' order: 1600 roundings of sums below 1600.
TEST(Gemm, a_large_product_is_the_same_by_variants_and_remembered) {
  if (device().capability() != 90) GTEST_SKIP() << "only Hopper's kernels are varied";
  const auto file = std::filesystem::temp_directory_path() / fmt::format("gemm-variant-{}.json", ::getpid());
  Trial run({4096, 1600, 1600, 1, kBf16, kBf16, true, false, true});
  Device own(0, file);
  Gemm gemm(own, run.problem);
  const auto first = run.bits(gemm);
  ASSERT_GT(gemm.add_variants(), 0);
  for (int algorithm = 0; algorithm < gemm.num_algorithms(); ++algorithm) {
    gemm.use_algorithm(algorithm);
    i64 far = 0;
    const auto bits = run.bits(gemm);
    for (i64 i = 0; i < 4096 * 1600; ++i) {
      const double x = run.plus.on_gpu(first, i), off = std::abs(x - run.plus.on_gpu(bits, i));
      far += !(off <= std::abs(x) / 128 + 1600 * 6e-8 * 1600);
    }
    EXPECT_EQ(far, 0) << algorithm;
  }
  Gemm tuned(own, run.problem);
  Numbers y(kBf16, 4096 * 1600, 5), workspace(kF32, tuned.workspace() / 4 + 1, 6);
  tuned.tune({run.a.data(), run.b.data(), y.data(), nullptr, run.bias.data(), workspace.data(), own.stream()});
  Device later(0, file);
  Gemm loaded(later, run.problem);
  EXPECT_TRUE(loaded.chosen());
  EXPECT_EQ(run.bits(tuned), run.bits(loaded));
  std::filesystem::remove(file);
}

// Measured anew, a choice could come out otherwise and round otherwise.
TEST(Gemm, nothing_is_measured_that_is_not_kept) {
  Trial run({512, 384, 256, 1, kBf16, kF32, true, false, false, Case::kInPlace});
  Device own(0, "");
  Gemm tuned(own, run.problem), first(own, run.problem);
  ASSERT_GT(tuned.num_algorithms(), 1);
  Numbers y(kF32, 512 * 384, 5), workspace(kF32, tuned.workspace() / 4 + 1, 6);
  tuned.tune({run.a.data(), run.b.data(), y.data(), y.data(), nullptr, workspace.data(), own.stream()});
  EXPECT_TRUE(tuned.chosen());
  EXPECT_EQ(own.gemm_choices().find(to_string(run.problem)), nullptr);
  first.use_algorithm(0);
  EXPECT_EQ(run.bits(tuned), run.bits(first));
}

// As the executor does it: all kernels are tuned, then the buffers get their contents.
TEST(EinsumKernel, is_right_after_tuning) {
  Trial trial({96, 64, 128, 1, kBf16, kF32, true, true, false, Case::kInPlace});
  const Mesh mesh = make_mesh({});
  const Type x{kBf16, {96, 128}, whole(2)}, w{kBf16, {128, 64}, whole(2)}, y{kF32, {96, 64}, whole(2)};
  Device own(0, "");
  const Kernel kernel = prepare(Einsum{"mk,kn->mn", kF32, true, true}, {mesh, {}, {x, w, y}, {y}, own});
  Numbers workspace(kF32, kernel.workspace / 4 + 1, 6);
  const std::vector<std::byte*> ins = {trial.a.data(), trial.b.data(), trial.plus.data()}, outs = {ins[2]};
  for (bool first : {true, false}) {
    kernel.tune({ins, outs, workspace.data(), first, own.stream()});
    check_cuda(cudaStreamSynchronize(own.stream()), "test");
    trial.a.upload(), trial.b.upload(), trial.plus.upload();
    kernel.run({ins, outs, workspace.data(), false, own.stream()});
    check_cuda(cudaStreamSynchronize(own.stream()), "test");
    trial.expect(trial.plus.bits(), "after tuning");
  }
}

// The loops that stand in for the library, with what it can add.
TEST(EinsumLoops, add_a_bias_and_a_matrix) {
  Trial run({5, 6, 7, 1, kBf16, kBf16, true, true, true, Case::kOther});
  EinsumLaunch l{kBf16, kBf16, kBf16, {2, 30, {5, 6}, {7, 0}, {0, 1}, {6, 1}}, {1, 7, {7}, {1}, {6}, {0}}, 6};
  Numbers y(kBf16, 30, 99);
  launch(l, {run.a.data(), run.b.data(), y.data(), run.plus.data(), run.bias.data()}, device().stream());
  check_cuda(cudaStreamSynchronize(device().stream()), "test");
  run.expect(y.bits(), "by loops");
}

}  // namespace megalith::cuda
