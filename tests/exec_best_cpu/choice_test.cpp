// The choice between two sets of CPU kernels, on CPUs that need not be here.
#include "exec/best_cpu/choice.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/error_of.h"

namespace megalith {
namespace {

using enum CpuKernels;

const std::vector<CpuFeature> kNew = {{"avx512f", true}, {"avx512bw", true}, {"avx512vl", true}};
const std::vector<CpuFeature> kOld = {{"avx512f", false}, {"avx512bw", false}, {"avx512vl", false}};
const std::vector<CpuFeature> kFirst = {
    {"avx512f", true}, {"avx512bw", false}, {"avx512vl", false}};  // Knights Landing

TEST(KernelChoice, FollowsTheCpu) {
  EXPECT_TRUE(takes_avx512(automatic, true, kNew));
  EXPECT_FALSE(takes_avx512(automatic, true, kOld));
  EXPECT_FALSE(takes_avx512(automatic, true, kFirst));  // a part of AVX-512 is not enough
}

TEST(KernelChoice, CanBeForced) {
  EXPECT_TRUE(takes_avx512(avx512, true, kNew));
  EXPECT_FALSE(takes_avx512(baseline, true, kNew));
  EXPECT_FALSE(takes_avx512(baseline, true, kOld));
}

TEST(KernelChoice, NamesWhatTheCpuLacks) {
  EXPECT_EQ(error_of([] { takes_avx512(avx512, true, kFirst); }),
            "--cpu-kernels avx512: this CPU lacks avx512bw, avx512vl: leave the flag out");
}

TEST(KernelChoice, ABuildWithOneSetHasNoOther) {
  EXPECT_FALSE(takes_avx512(automatic, false, {}));
  EXPECT_FALSE(takes_avx512(automatic, false, kNew));
  EXPECT_FALSE(takes_avx512(baseline, false, {}));
  EXPECT_EQ(error_of([] { takes_avx512(avx512, false, {}); }),
            "--cpu-kernels avx512: this build has one set of CPU kernels: leave the flag out, or build with "
            "-DMEGALITH_NATIVE=OFF");
}

}  // namespace
}  // namespace megalith
