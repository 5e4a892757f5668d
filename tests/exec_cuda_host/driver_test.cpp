// What is settled before CUDA's driver starts.
#include <gtest/gtest.h>

#include <cstdlib>

#include "exec/cuda/backend.h"

namespace megalith {
namespace {

constexpr const char* kName = "CUDA_DEVICE_MAX_CONNECTIONS";

std::string told() {
  testing::internal::CaptureStderr();
  settle_cuda_driver();
  EXPECT_STREQ(std::getenv(kName), "32");
  return testing::internal::GetCapturedStderr();
}

}  // namespace

TEST(Driver, TellsOnceThatTheUsersQueuesAreReplaced) {
  unsetenv(kName);
  EXPECT_EQ(told(), "");
  EXPECT_EQ(told(), "");
  setenv(kName, "1", 1);
  EXPECT_EQ(told(),
            "CUDA_DEVICE_MAX_CONNECTIONS=1 of the environment is replaced by 32: transfers need separate queues on "
            "a GPU\n");
  EXPECT_EQ(told(), "");
}

}  // namespace megalith
