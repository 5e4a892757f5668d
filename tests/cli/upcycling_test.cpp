// A mixture of experts starts from a dense model (--moe-use-upcycling). At first it must compute the same results.
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "workshop.h"

namespace megalith::test {
namespace {

struct UpcyclingCase {
  const char *name, *layers, *dense, *mixture;
  int pieces = 1, ranks = 1;
};
void PrintTo(const UpcyclingCase& c, std::ostream* out) { *out << c.name; }

constexpr const char* kGated = "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear";
constexpr const char* kSquare = "--squared-relu --disable-bias-linear";

constexpr UpcyclingCase kUpcyclingCases[] = {
    {"copies", kGated, "--ffn-hidden-size 96", "--num-experts 4 --moe-router-topk 2 --moe-ffn-hidden-size 96"},
    {"pieces", kGated, "--ffn-hidden-size 96", "--num-experts 8 --moe-router-topk 4 --moe-ffn-hidden-size 48", 2},
    {"square_pieces", kSquare, "--ffn-hidden-size 96", "--num-experts 8 --moe-router-topk 4 --moe-ffn-hidden-size 24",
     4},
    {"gelu_biases", "", "--ffn-hidden-size 96", "--num-experts 6 --moe-router-topk 3 --moe-ffn-hidden-size 32", 3},
    {"logistic", kGated, "--ffn-hidden-size 96",
     "--num-experts 8 --moe-router-topk 4 --moe-ffn-hidden-size 48 --moe-router-score-function sigmoid "
     "--moe-router-enable-expert-bias --moe-router-topk-scaling-factor 2.5",
     2},
    {"ranks", kGated, "--ffn-hidden-size 96",
     "--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 48 --expert-model-parallel-size 2", 2, 2},
    {"some_layers", kGated, "--ffn-hidden-size 96 --mtp-num-layers 1",
     "--num-experts 4 --moe-router-topk 2 --moe-ffn-hidden-size 96 --moe-layer-freq [0,1] --mtp-num-layers 1 "
     "--ffn-hidden-size 96"},
};

class Upcycling : public Workshop, public ::testing::WithParamInterface<UpcyclingCase> {
 protected:
  std::string line(const std::string& more) {
    return pretrain("--global-batch-size 4 --lr-decay-iters 20 --log-interval 1 " + more);
  }
  // The loss of a run's first step.
  double first_loss(const std::string& flags, int ranks) {
    const std::string metrics = *this / "metrics.jsonl";
    const Ran ran = megalith(line(flags + " --train-iters 1 --metrics-file " + metrics), {.ranks = ranks});
    EXPECT_TRUE(ran.ok()) << ran.err;
    std::istringstream in(slurp(metrics));
    std::string first;
    std::getline(in, first);
    return nlohmann::json::parse(first)["lm_loss"].get<double>();
  }
};

TEST_P(Upcycling, BeginsAsTheDenseModel) {
  const UpcyclingCase& c = GetParam();
  if (c.ranks > 1 && !has_mpirun()) GTEST_SKIP() << "there is no mpirun here";
  const std::string dense = fmt::format("{} {} ", c.layers, c.dense), ck = *this / "dense";
  must(line(dense + "--train-iters 4 --save-interval 4 --save " + ck));
  const std::string load = "--load " + ck + " ";
  const double want = first_loss(dense + load + "--finetune", 1);
  const double random = first_loss(fmt::format("{} {}", c.layers, c.mixture), c.ranks);
  const double got = first_loss(
      fmt::format("{} {} {} --moe-use-upcycling --moe-upcycling-granularity {}", c.layers, c.mixture, load, c.pieces),
      c.ranks);
  EXPECT_NEAR(got, want, 1e-5 * want);
  EXPECT_GT(std::abs(random - want), 1e-3) << "a model that is drawn has another loss";
}

INSTANTIATE_TEST_SUITE_P(, Upcycling, ::testing::ValuesIn(kUpcyclingCases), ::testing::PrintToStringParamName());

class UpcyclingRefused : public Workshop {};

TEST_F(UpcyclingRefused, OfWhatIsNoCopy) {
  const std::string base = std::string(kGated) + " --ffn-hidden-size 96 ", ck = *this / "dense";
  must(pretrain(base + "--train-iters 2 --save-interval 2 --save " + ck));
  const auto refused = [&](const std::string& flags, const std::string& message) {
    expect_refused(pretrain(base + "--train-iters 2 --moe-use-upcycling --load " + ck + " " + flags), message);
  };
  const std::string pieces = "--moe-ffn-hidden-size 48 --moe-upcycling-granularity 2 ";
  refused("", "--moe-use-upcycling needs experts: give --num-experts");
  refused("--num-experts 5 --moe-router-topk 2 " + pieces, "--num-experts 5 is not divisible");
  refused("--num-experts 4 --moe-router-topk 1 --moe-router-pre-softmax " + pieces, "--moe-router-topk 1 is not");
  refused("--num-experts 4 --moe-ffn-hidden-size 48",
          "holds another model than the flags (ffn_hidden_size: 96 there, 48 here)");
  refused("--num-experts 4 --moe-ffn-hidden-size 96 --moe-shared-expert-intermediate-size 32",
          "--moe-use-upcycling: a dense model has no shared expert");
  refused("--num-experts 4 --save-interval 1 --save " + ck, "which this run does not resume from");
  expect_refused(pretrain(base + "--train-iters 2 --moe-use-upcycling --num-experts 4"),
                 "--moe-use-upcycling wants --load");
}

}  // namespace
}  // namespace megalith::test
