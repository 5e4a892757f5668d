// Flags of offloading where there is no memory but the host's.
#include <gtest/gtest.h>

#include "exec/cpu/backend.h"
#include "options_helpers.h"
#include "train/pretrain.h"

namespace megalith {
namespace {

std::string told(const std::string& flags) {
  Options options = read_line(std::string(kSmallRun) + "--dry-run " + flags);
  options.data.eod = 100, options.data.seq_length = 32, options.data.vocab_size = 101;
  options.model.vocab_size = 101;
  finish_options(options);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  pretrain_gpt(options, *make_cpu_backend(), *join(Place{}));
  return testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
}

}  // namespace

TEST(OffloadOnTheCpu, IsToldToFreeNothing) {
  constexpr const char *kNothing =
                           "warning: --optimizer-cpu-offload on the CPU, whose memory is the host's, frees none",
                       *kInTurn = "on a GPU state goes there and back in turn";
  const std::string automatic = told("--optimizer-cpu-offload"), cpu = told("--optimizer-cpu-offload --device cpu");
  EXPECT_NE(automatic.find(kNothing), std::string::npos) << automatic;
  EXPECT_NE(automatic.find(kInTurn), std::string::npos);
  EXPECT_NE(cpu.find(kNothing), std::string::npos) << cpu;
  EXPECT_EQ(cpu.find(kInTurn), std::string::npos);
  EXPECT_EQ(told("").find(kNothing), std::string::npos);
}

TEST(OffloadOnTheCpu, OfActivationsIsToldToFreeNothing) {
  constexpr const char* kNothing =
      "warning: --fine-grained-activation-offloading on the CPU, whose memory is the host's, frees none";
  const std::string out = told("--fine-grained-activation-offloading");
  EXPECT_NE(out.find(kNothing), std::string::npos) << out;
  EXPECT_EQ(told("").find(kNothing), std::string::npos);
}

}  // namespace megalith
