// Tests of `megalith plan`: exit codes, the commands that it prints, and its files.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "facts/facts_file.h"
#include "json_schema.h"
#include "tests/places.h"
#include "workshop.h"

namespace megalith::test {
namespace {

using Json = nlohmann::json;

// The model allows few layouts, because each plan takes a moment.
const std::string kModel =
    "--num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 1024 --vocab-size 8192 --swiglu --bf16 "
    "--normalization RMSNorm --disable-bias-linear --position-embedding-type rope --global-batch-size 32 "
    "--recompute-granularity full --context-parallel-size 1 --pipeline-schedule 1f1b ";

const std::string k70B =
    "--num-layers 80 --hidden-size 8192 --num-attention-heads 64 --num-query-groups 8 --ffn-hidden-size 28672 "
    "--seq-length 8192 --vocab-size 128256 --swiglu --bf16 --normalization RMSNorm --disable-bias-linear "
    "--untie-embeddings-and-output-weights --position-embedding-type rope --global-batch-size 1024 ";
const std::string k405B =
    "--num-layers 126 --hidden-size 16384 --num-attention-heads 128 --num-query-groups 8 --ffn-hidden-size 53248 "
    "--seq-length 8192 --vocab-size 128256 --swiglu --bf16 --normalization RMSNorm --disable-bias-linear "
    "--untie-embeddings-and-output-weights --position-embedding-type rope --global-batch-size 2048 ";

class Planning : public Workshop {
 protected:
  Json json_of(const std::string& flags) {
    (void)must("plan " + flags + " --json " + *this / "plan.json");
    return Json::parse(slurp(*this / "plan.json"));
  }
  static Json schema() { return Json::parse(slurp(std::string(kSourceDir) + "/share/megalith/plan.schema.json")); }
};

bool holds(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace

TEST_F(Planning, ExitCodesTellWhetherAnythingFits) {
  const Ran fits = megalith("plan " + kModel + "--gpus 4 --tokens 1e9 --max-days 30");
  EXPECT_EQ(fits.exit_code, 0) << fits.err;
  EXPECT_TRUE(holds(fits.out, "run:  torchrun")) << fits.out;
  const Ran slow = megalith("plan " + kModel + "--gpus 4 --tokens 1e12 --max-days 1");
  EXPECT_EQ(slow.exit_code, 3);
  EXPECT_TRUE(holds(slow.out, "refused:") && holds(slow.out, "more days or money than --max-days")) << slow.out;
  EXPECT_TRUE(holds(slow.out, "the fastest layout that takes too long: ")) << slow.out;
  EXPECT_FALSE(holds(slow.out, "run:  ")) << slow.out;
  const Ran dear = megalith("plan " + kModel + "--gpus 4 --tokens 1e12 --max-cost 1 --gpu-hour-price 3");
  EXPECT_EQ(dear.exit_code, 3) << dear.out;
  const Ran large = megalith("plan " + k70B + "--gpus 1");
  EXPECT_EQ(large.exit_code, 3);
  EXPECT_TRUE(holds(large.out, "memory")) << large.out;
  EXPECT_TRUE(holds(large.out, "no layout fits")) << large.out;
  const Ran none_of = megalith("plan " + k70B + "--gpus 1:2");
  EXPECT_EQ(none_of.exit_code, 3);
  EXPECT_TRUE(holds(none_of.out, "refused:")) << none_of.out;
  EXPECT_EQ(megalith("plan " + kModel + "--gpus 4 --max-cost 10").exit_code, 1) << "there is no price";
  EXPECT_EQ(megalith("plan " + kModel + "--gpus 4 --objective speed").exit_code, 1);
}

TEST_F(Planning, ASizeThatNoLayoutCanHaveIsAMistake) {
  const std::string three = kModel + "--tensor-model-parallel-size 3 ";
  for (const std::string gpus : {"8", "4:8"}) {
    const Ran ran = megalith("plan " + three + "--gpus " + gpus);
    EXPECT_EQ(ran.exit_code, 1) << ran.out;
    EXPECT_TRUE(holds(ran.err, "--tensor-model-parallel-size 3")) << ran.err;
  }
  const Ran some = must("plan " + kModel + "--tensor-model-parallel-size 4 --micro-batch-size 2 --gpus 2:4");
  EXPECT_TRUE(holds(some.out, "2 GPUs: no layout fits")) << some.out;
}

// The expected days and prices follow from the formula, for models with known sizes.
TEST_F(Planning, DaysAndPriceOfAnAssumedThroughput) {
  const std::string of_70b = "plan " + k70B + "--assume-tokens-per-second 4200 --gpus 256 --gpu-hour-price 3.10";
  const Ran ran = must(of_70b);
  EXPECT_TRUE(holds(ran.out, "10.76 days, 205,026 USD")) << ran.out;
  const std::string too_fast = "plan " + k405B + "--assume-tokens-per-second 1250 --gpus 4096 --gpu-hour-price 3.10";
  const Ran refused = megalith(too_fast);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(holds(refused.err, "159% of the dense fp8 peak")) << refused.err;
  EXPECT_TRUE(holds(must(too_fast + " --force").out, "2.26 days, 688,889 USD"));
}

TEST_F(Planning, EachPrintedCommandPlansTheSameBytes) {
  const std::string more[] = {"",
                              "--num-experts 4 --moe-router-topk 2 --moe-ffn-hidden-size 512 --micro-batch-size 1 "};
  for (const std::string& flags : more) {
    const Json plan = json_of(kModel + flags + "--gpus 8 --top 4");
    ASSERT_GE(plan["best"].size(), 3);
    for (const Json& row : plan["best"]) {
      const std::string command = row["command"];
      const size_t at = command.find("megalith ");
      ASSERT_NE(at, command.npos) << command;
      const Ran dry = must(command.substr(at + 9) +
                           " --dry-run --device h100 --world-size 8 --train-iters 10 --lr 1e-4 --eval-iters 0");
      const double total = last_number(dry.out, "\n  total ");  // bytes
      EXPECT_EQ(total, row["bytes"].get<double>()) << command;
    }
  }
}

TEST_F(Planning, ItsJsonIsWhatTheSchemaSays) {
  const Json plan = json_of(kModel + "--gpus 8 --top 3 --gpu-hour-price 3.1");
  EXPECT_EQ(violations(plan, schema()), "");
  EXPECT_EQ(plan["best"].size(), 3);
  EXPECT_TRUE(std::ranges::is_sorted(plan["best"], {}, [](const Json& r) { return r["step_seconds"].get<double>(); }));
  Json broken = plan;
  broken["best"][1].erase("bytes");
  EXPECT_NE(violations(broken, schema()), "") << "a row without bytes is held to be good";
  broken = plan, broken["best"][0]["layout"]["tensor"] = 0;
  EXPECT_NE(violations(broken, schema()), "") << "no tensor-parallel rank is held to be good";
  const Json none = [&] {
    (void)megalith("plan " + k70B + "--gpus 1 --json " + *this / "none.json");
    return Json::parse(slurp(*this / "none.json"));
  }();
  EXPECT_EQ(violations(none, schema()), "");
  EXPECT_TRUE(none["best"].empty());
}

TEST_F(Planning, SitesArePriced) {
  const std::string sites = kModel + "--sites a:4,b:4 --site-bandwidth 10Gb --site-latency 20ms ";
  const Json one = json_of(kModel + "--gpus 8 --top 3"), plan = json_of(sites + "--top 3");
  EXPECT_EQ(violations(plan, schema()), "");
  EXPECT_EQ(plan["gpus"], 8);
  EXPECT_TRUE(std::ranges::is_sorted(plan["best"], {}, [](const Json& r) { return r["step_seconds"].get<double>(); }));
  const Json& best = plan["best"][0];
  EXPECT_EQ(best["sites"]["mode"], "hierarchical");
  EXPECT_LE(best["layout"]["tensor"].get<int>() * best["layout"]["pipeline"].get<int>(), 4);
  EXPECT_GT(best["step_seconds"], one["best"][0]["step_seconds"]);
  EXPECT_GT(best["step_seconds"], best["sites"]["exposed_seconds"]);
  const Ran local = must("plan " + sites + "--site-mode local-sgd --local-steps 50");
  EXPECT_TRUE(holds(local.out, "local-sgd (every 50 steps, in int8) changes the loss curve")) << local.out;
  expect_refused("plan " + kModel + "--gpus 16 --sites a:4,b:4 --site-bandwidth 10Gb --site-latency 20ms",
                 "the sites have 8 GPUs");
  expect_refused("plan " + kModel + "--sites a:4,b:4", "give all three");
  expect_refused("plan " + kModel + "--gpus 8 --site-latency 20ms", "--site-latency needs --sites");
}

TEST_F(Planning, ItsJsonPassesAnotherValidatorsSchema) {
  if (std::system("python3 -c 'import jsonschema' 2>/dev/null") != 0) GTEST_SKIP() << "python3-jsonschema is not here";
  (void)json_of(kModel + "--gpus 8 --top 3");
  const std::string line = fmt::format(
      "python3 -c \"import json, jsonschema as j; s = json.load(open('{}')); j.Draft7Validator.check_schema(s); "
      "j.validate(json.load(open('{}')), s)\"",
      std::string(kSourceDir) + "/share/megalith/plan.schema.json", *this / "plan.json");
  EXPECT_EQ(std::system(line.c_str()), 0);
}

TEST_F(Planning, ItsPageIsOneFileThatLoadsNothing) {
  (void)must("plan " + kModel + "--gpus 8 --pipeline-model-parallel-size 2 --top 3 --gpu-hour-price 2 --html " +
             *this / "plan.html");
  const std::string page = slurp(*this / "plan.html");
  for (const char* part : {"<!DOCTYPE html>", "Pipeline of #1", "Memory of #1 by stage", "stage 1", "<circle",
                           "USD per 1T tokens", "pretrain-gpt", "</html>"})
    EXPECT_TRUE(holds(page, part)) << part;
  for (const char* part : {"src=", "href=", "@import", "url("}) EXPECT_FALSE(holds(page, part)) << part;
  const auto count = [&](const std::string& tag) {
    size_t n = 0;
    for (size_t at = page.find(tag); at != page.npos; at = page.find(tag, at + 1)) ++n;
    return n;
  };
  for (const std::string tag : {"table", "svg", "tr", "rect"}) {
    EXPECT_GT(count("<" + tag), 0);
    EXPECT_EQ(count("<" + tag + " ") + count("<" + tag + ">"), count("</" + tag + ">")) << tag;
  }
}

TEST_F(Planning, KindsOfGpusStandBesideEachOther) {
  const std::string run = "plan " + kModel + "--gpus 4:8 --tokens 1e9 ";
  const Ran both = must(run + "--hardware h100-sxm,b200-sxm --gpu-hour-price 3 4 --json " + *this / "kinds.json" +
                        " --csv " + *this / "kinds.csv");
  const Json kinds = Json::parse(slurp(*this / "kinds.json"));
  ASSERT_EQ(kinds.size(), 2);
  for (size_t i = 0; i < 2; ++i) {
    const Json& kind = kinds[i];
    EXPECT_EQ(violations(kind, schema()), "");
    const std::string name = kind["hardware"]["name"];
    EXPECT_EQ(name, i == 0 ? "h100-sxm" : "b200-sxm");
    const Json alone =
        json_of(kModel + "--gpus 4:8 --tokens 1e9 --hardware " + name + " --gpu-hour-price " + (i == 0 ? "3" : "4"));
    ASSERT_EQ(kind["best"].size(), 2);
    for (size_t n = 0; n < 2; ++n)
      for (const char* key : {"gpus", "name", "step_seconds", "bytes", "usd", "mwh"})
        EXPECT_EQ(kind["best"][n][key], alone["best"][n][key]) << name << ' ' << key;
    EXPECT_TRUE(holds(both.out, "4 x " + name) && holds(both.out, "8 x " + name)) << both.out;
  }
  const double ratio =
      kinds[0]["best"][0]["step_seconds"].get<double>() / kinds[1]["best"][0]["step_seconds"].get<double>();
  EXPECT_GT(ratio, 1.5);
  EXPECT_TRUE(holds(both.out, fmt::format(" {:.2f} ", ratio))) << both.out;
  const std::string csv = slurp(*this / "kinds.csv");
  EXPECT_EQ(std::ranges::count(csv, '\n'), 5) << csv;
  EXPECT_TRUE(holds(csv, ",h100-sxm\n") && holds(csv, ",b200-sxm\n")) << csv;
}

TEST_F(Planning, FilesAndGoodputAreCheckedBeforeTheSearch) {
  const std::string run = "plan " + kModel + "--gpus 8 ";
  for (const std::string flag : {"--json ", "--csv ", "--html "})
    expect_refused(run + flag + *this / "no/file", "no/file: can't be written: name another file");
  expect_refused("calibrate --device cpu --out " + *this / "no/file.yaml", "can't be written: name another file");
  expect_refused(run + "--restart-seconds 1e12", "less than 0.1% of the time of 8 GPUs is useful");
}

TEST_F(Planning, KindsOfGpusHaveLimitsAndMistakes) {
  const std::string run = "plan " + kModel + "--gpus 4 --tokens 1e12 ";
  const double days = json_of(kModel + "--gpus 4 --tokens 1e12")["best"][0]["days"];
  const std::string kinds = "--hardware h100-sxm,v100 ";
  expect_refused(run + kinds, "--hardware v100: there are facts of ");
  const Ran one_ends = must(run + "--hardware a100-80g-sxm,h100-sxm " + fmt::format("--max-days {}", days * 1.01));
  EXPECT_TRUE(holds(one_ends.out, "a100-80g-sxm: none of these numbers of GPUs ends within the days")) << one_ends.out;
  EXPECT_TRUE(holds(one_ends.out, "4 x h100-sxm, ")) << one_ends.out;
  EXPECT_EQ(megalith(run + "--hardware a100-80g-sxm,h100-sxm --max-days 0.1").exit_code, 3);
  expect_refused(run + "--hardware h100-sxm,b200-sxm --gpu-hour-price 3 4 5", "has 3 prices for 2 kinds of GPUs");
  expect_refused(run + "--hardware h100-sxm,b200-sxm --explain tp1", "are of one kind of GPUs");
  expect_refused(run + "--hardware h100-sxm,", "--hardware : there are facts of ");
}

// The CPU has no sizes of a GPU. Its plan is this CPU's, and its time follows from the file.
TEST_F(Planning, FactsOfACpuPredictItsSteps) {
  const auto seconds = [&](double gbps) {
    DeviceFacts f;
    f.name = "slow", f.device = "CPU", f.measured = true, f.recorded = "once";
    f.hbm_gbps = gbps, f.memory_bytes = i64{1} << 34, f.peak_tflops = {{"bf16", 1}};
    spit(*this / "cpu.yaml", print_facts(f));
    const Ran ran =
        must("pretrain-gpt " + kModel + "--micro-batch-size 1 --mock-data --train-iters 1 --lr 1 --dry-run --device " +
             *this / "cpu.yaml");
    const std::string said = ran.out + ran.err;
    EXPECT_TRUE(holds(said, "from the facts of slow, recorded once")) << said;
    const size_t at = said.find("predicted: ");
    return at == said.npos ? 0 : std::stod(said.substr(at + 11));
  };
  const double slow = seconds(0.001), fast = seconds(0.002);
  EXPECT_GT(fast, 0);
  EXPECT_LT(fast, 0.9 * slow);
  expect_refused("plan " + kModel + "--gpus 1 --hardware " + *this / "cpu.yaml", "a search needs a GPU's");
}

TEST_F(Planning, ARecipeIsAModelWhoseLayoutIsSearched) {
  const std::string fixed = "--gpus 8 --context-parallel-size 1 --pipeline-schedule 1f1b ";
  const Json by_name = json_of("--recipe gpt2-small " + fixed);
  ASSERT_FALSE(by_name["best"].empty());
  EXPECT_EQ(by_name["sequence_length"], 1024);
  std::set<i64> micro_batches;
  for (const Json& row : by_name["best"]) micro_batches.insert(row["layout"]["micro_batch"].get<i64>());
  EXPECT_GT(micro_batches.size(), 1) << "the recipe's micro-batch is not searched";
  const Ran ran = must("plan --recipe gpt2-small --seq-length 512 " + fixed);
  EXPECT_TRUE(holds(ran.out, "sequences of 512")) << ran.out;
  expect_refused("plan --recipe gpt2-tiny " + fixed, "gpt2-tiny");
  expect_refused("plan --recipe bert-base " + fixed, "pretrain-bert");
}

}  // namespace megalith::test
