// A checkpoint that the program wrote before format version 2: version1/iter_0000002, by
//   pretrain-gpt (flags below) --save DIR --save-interval 2
// The next losses of that run were 2.687964 and 2.616426.
#include <filesystem>

#include "tests/places.h"
#include "workshop.h"

namespace megalith::test {
namespace {

class Version1 : public Workshop {
 protected:
  std::string folder() {
    std::filesystem::copy(std::string(kSourceDir) + "/tests/cli/version1", *this / "ck",
                          std::filesystem::copy_options::recursive);
    return *this / "ck/iter_0000002";
  }
  static constexpr const char* kRun =
      "pretrain-gpt --num-layers 1 --hidden-size 8 --num-attention-heads 2 --seq-length 8 --micro-batch-size 1 "
      "--global-batch-size 2 --train-iters 4 --lr 1e-2 --vocab-size 16 --make-vocab-size-divisible-by 4 --mock-data "
      "--log-interval 1 --eval-iters 0 --position-embedding-type rope --no-progress --lr-decay-iters 10 --load ";
};

TEST_F(Version1, GoesOn) {
  const Ran ran = must(kRun + folder());
  const size_t third = ran.out.find("lm loss: "), fourth = ran.out.find("lm loss: ", third + 1);
  ASSERT_NE(fourth, std::string::npos) << ran.out;
  EXPECT_NEAR(last_number(ran.out.substr(0, fourth), "lm loss: "), 2.687964, 1e-5);
  EXPECT_NEAR(last_number(ran.out, "lm loss: "), 2.616426, 1e-5);
}

TEST_F(Version1, DamageIsNamed) {
  const std::string shard = folder() + "/shard_00000.safetensors";
  std::string bytes = slurp(shard);
  bytes[bytes.size() - 100] ^= 1;
  spit(shard, bytes);
  expect_refused(kRun + *this / "ck/iter_0000002", "wrong checksum; tensor ");
}

}  // namespace
}  // namespace megalith::test
