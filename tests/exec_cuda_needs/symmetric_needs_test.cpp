#include "exec/cuda_needs/symmetric_needs.h"

#include <gtest/gtest.h>

namespace megalith::cuda {

TEST(SymmetricNeeds, copies_need_a_gpu_for_each_rank) {
  EXPECT_TRUE(have_own_gpus({"0/0000:1B:00.0"}));
  EXPECT_TRUE(have_own_gpus({"0/0000:1B:00.0", "0/0000:43:00.0"}));
  EXPECT_TRUE(have_own_gpus({"0/0000:1B:00.0", "1/0000:1B:00.0"})) << "of two hosts";
  EXPECT_FALSE(have_own_gpus({"0/0000:1B:00.0", "0/0000:43:00.0", "0/0000:1B:00.0"}));
  EXPECT_FALSE(have_own_gpus({"0/0000:1B:00.0", ""}));
}

}  // namespace megalith::cuda
