// The two sets of CPU kernels, in a build that has both.
#include <cmath>

#include "exec/best_cpu/best_cpu.h"
#include "exec/cpu/backend.h"
#include "tests/error_of.h"
#include "tests/harness/thread_ranks.h"
#include "told_run.h"

namespace megalith {
namespace {

bool cpu_has_avx512() {
  return HAS_BOTH && error_of([] { make_best_cpu_backend(nullptr, CpuKernels::avx512); }).empty();
}

TEST(TwoSets, TheBackendNamesItsKernels) {
  if (!HAS_BOTH) {
    EXPECT_EQ(make_best_cpu_backend()->kernels(), "");
    return;
  }
  EXPECT_EQ(make_best_cpu_backend()->kernels(), cpu_has_avx512() ? "avx512" : "baseline");
  EXPECT_EQ(make_best_cpu_backend(nullptr, CpuKernels::baseline)->kernels(), "baseline");
}

// The first loss and the first gradient: later steps add up what differs. In f32 a sum of n products differs by about
// sqrt(n) 2^-24 of its terms' size. The longest has 256 terms, and a dozen follow each other: 2^-18. Twice that is
// allowed. Activations in bf16 have 8 bits, so a difference can become 2^-9.
TEST(TwoSets, ComputeTheSameWithinRounding) {
  if (!cpu_has_avx512()) GTEST_SKIP() << "this build has one set of CPU kernels, or the CPU has no AVX-512";
  struct Case {
    const char* flags;
    double loss, norm;
  };
  for (const Case c : {Case{"", 0x1p-17, 0x1p-17}, Case{"--bf16", 0x1p-9, 0x1p-6},
                       Case{"--swiglu --normalization RMSNorm --position-embedding-type rope", 0x1p-17, 0x1p-17}}) {
    const auto told = [&](CpuKernels kernels) {
      return run(std::string("--save-interval 100 --log-interval 1 --train-iters 2 ") + c.flags,
                 *make_best_cpu_backend(nullptr, kernels));
    };
    const Told wide = told(CpuKernels::avx512), narrow = told(CpuKernels::baseline);
    for (const auto& [key, relative] : {std::pair("lm_loss", c.loss), std::pair("grad_norm", c.norm)}) {
      const std::vector<double> a = values_of(wide.metrics, key), b = values_of(narrow.metrics, key);
      ASSERT_TRUE(!a.empty() && !b.empty()) << wide.error << narrow.error << wide.metrics;
      EXPECT_GT(b[0], 0.1) << key;
      EXPECT_NEAR(a[0], b[0], relative * b[0]) << key << " " << c.flags;
    }
  }
}

// Ranks on different CPUs would choose different sets.
TEST(TwoSets, AreRefusedInOneRun) {
  const std::string error = error_of([] {
    harness::run_ranks(2, [](Ranks& ranks) {
      Options o = read_line(std::string(kSmallRun) + "--vocab-size 101 --no-progress");
      o.data.eod = 100, o.data.seq_length = 32, o.data.vocab_size = 101, o.parallel.world_size = 2;
      finish_options(o);
      pretrain(o, *make_cpu_backend(&ranks, ranks.rank() == 0 ? "avx512" : "baseline"), ranks);
    });
  });
  // The rank that differs, or the one that tells of it.
  EXPECT_TRUE(
      error.ends_with("the CPU kernels here differ from rank 0's: give --cpu-kernels baseline, because the CPUs "
                      "of the hosts differ"))
      << error;
}

}  // namespace
}  // namespace megalith
