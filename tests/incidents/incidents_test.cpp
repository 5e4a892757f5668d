// NaN values and loss spikes, injected or from the data. The report must name rank, layer, tensor and document. No
// weight changes.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/cli/workshop.h"

namespace megalith::test {
namespace {

using nlohmann::json;

// Documents of one letter each: document d is the letter '!' + d, 40 times.
constexpr int kDocuments = 60, kFirst = '!';

class Incidents : public Workshop {
 protected:
  std::string documents(const std::string& name, const std::string& text) {
    spit(*this / (name + ".txt"), text);
    must("preprocess-data --tokenizer-type ByteTokenizer --append-eod --split-lines --input " +
         *this / (name + ".txt") + " --output-prefix " + *this / name);
    return *this / (name + "_text_document");
  }
  std::string letters() {
    std::string text;
    for (int d = 0; d < kDocuments; ++d) text += std::string(40, char(kFirst + d)) + "\n";
    return documents("letters", text);
  }
  std::string run(const std::string& data, const std::string& more) {
    return "pretrain-gpt --num-layers 2 --hidden-size 32 --num-attention-heads 2 --seq-length 32 --micro-batch-size 2 "
           "--tokenizer-type ByteTokenizer --lr 2e-2 --eval-iters 0 --no-progress --log-interval 1 --data-path " +
           data + " --save " + *this / "save" + " " + more;
  }
  json incident(int iteration) {
    const std::string path = *this / fmt::format("save/incidents/iter_{:07d}.json", iteration);
    return json::parse(slurp(path), nullptr, false);
  }
};

struct Planting {
  const char* tensor;
  int rank, layer, position, row, micro_batch;
};

// Each fault is injected in a different iteration, from the second on.
void expect_named(const json& found, const Planting& p, const std::string& data) {
  ASSERT_TRUE(found.is_object()) << p.tensor;
  const json& first = found["first_non_finite"];
  ASSERT_TRUE(first.is_object()) << p.tensor << found["cause"];
  EXPECT_EQ(first["rank"], p.rank) << p.tensor;
  EXPECT_EQ(first["layer"], p.layer) << p.tensor;
  EXPECT_EQ(first["tensor"], p.tensor);
  EXPECT_EQ(first["micro_batch"], p.micro_batch) << p.tensor;
  EXPECT_EQ(first["position"], p.position) << p.tensor;
  EXPECT_EQ(first["row"], p.row) << p.tensor;
  EXPECT_EQ(found["kind"], "not finite");
  EXPECT_EQ(found["decision"], "skipped");
  // The input of the model identifies the document. The data file must have the same token at the reported byte.
  ASSERT_TRUE(first.contains("document")) << p.tensor << first;
  const int document = first["document"]["document"], token = first["token"];
  if (token < kFirst + kDocuments) EXPECT_EQ(document, token - kFirst) << p.tensor;
  const i64 into = p.position - first["document"]["position"].get<i64>();
  const size_t byte = first["document"]["byte"].get<size_t>() + size_t(2 * into);
  const std::string bin = slurp(data + ".bin");
  ASSERT_LT(byte + 1, bin.size());
  EXPECT_EQ(int(static_cast<unsigned char>(bin[byte])) + 256 * int(static_cast<unsigned char>(bin[byte + 1])), token);
}

void expect_all_named(const std::vector<Planting>& plantings, const std::string& data,
                      const std::function<json(int)>& incident) {
  for (size_t i = 0; i < plantings.size(); ++i) expect_named(incident(int(i) + 2), plantings[i], data);
}

std::string inject(const std::vector<Planting>& plantings) {
  std::string out = "--inject-allowed --inject";
  int iteration = 2;
  for (const Planting& p : plantings)
    out += fmt::format(" nan@{}:{}:{}:position={}:row={}:micro-batch={}", p.rank, iteration++, p.tensor, p.position,
                       p.row, p.micro_batch);
  return out + fmt::format(" --train-iters {} --save-interval {}", iteration, iteration);
}

const std::vector<Planting> kOneRank = {{"layers.0.attention.einsum.0", 0, 0, 3, 0, 0},
                                        {"layers.1.mlp.activate.0", 0, 1, 20, 1, 1},
                                        {"backward.layers.1.mlp.activate_grad.0", 0, 1, 17, 0, 1},
                                        {"embedding.embedding.0", 0, -1, 9, 1, 0}};

TEST_F(Incidents, NameRankLayerTensorAndDocument) {
  const std::string data = letters();
  const Ran ran = must(run(data, "--global-batch-size 4 " + inject(kOneRank)));
  expect_all_named(kOneRank, data, [&](int i) { return incident(i); });
  EXPECT_FALSE(std::filesystem::exists(*this / "save/incidents/iter_0000001.json"));
  EXPECT_NE(ran.err.find("rank 0, layer 1, tensor layers.1.mlp.activate.0"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find(" of " + data), std::string::npos) << ran.err;

  const Ran blame = must("blame " + *this / "save/incidents/iter_0000003.json" + " --text");
  const json first = incident(3)["first_non_finite"];
  EXPECT_NE(blame.out.find(fmt::format("document {} of {}", first["document"]["document"].get<int>(), data)),
            std::string::npos)
      << blame.out;
  EXPECT_NE(blame.out.find(fmt::format(" {} ", first["token"].get<int>())), std::string::npos) << blame.out;
}

// The directory may be back later, so nothing takes its place.
TEST_F(Incidents, MakeNoDirectoryWhereSaveWas) {
  namespace fs = std::filesystem;
  const std::string data = letters();
  Ran ran;
  std::thread running([&] {
    ran = megalith(run(data,
                       "--inject-allowed --inject nan@0:3000:layers.0.attention.einsum.0 --train-iters 3000 "
                       "--save-interval 3000"));
  });
  const auto has_begun = [&] {
    return fs::exists(*this / "save/ranks.jsonl") && fs::exists(*this / "save/goodput.jsonl");
  };
  while (!has_begun()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  fs::rename(*this / "save", *this / "save2");
  running.join();
  EXPECT_FALSE(fs::exists(*this / "save"));
  EXPECT_NE(ran.err.find("iteration 3000: cannot write its incident: "), std::string::npos) << ran.err;
}

TEST_F(Incidents, BlameRefusesOtherFiles) {
  const std::string data = letters(), file = *this / "iter.json";
  const auto blamed = [&](const std::string& document) {
    spit(file, R"({"iteration":1,"kind":"spike","decision":"kept","cause":"","iterations_to_skip":0,"samples":[],)"
               R"("first_non_finite":{"document":{"prefix":")" +
                   data + R"(",)" + document + "}}}");
    return megalith("blame --text " + file);
  };
  EXPECT_EQ(blamed(R"("document":59,"token":0,"tokens":41,"position":0,"byte":0,"end_byte":82)").exit_code, 0);
  const std::string gone = "it has changed since the incident";
  expect_refused(blamed(R"("document":60,"token":0,"tokens":41,"position":0,"byte":0,"end_byte":82)"), gone);
  expect_refused(blamed(R"("document":1,"token":0,"tokens":99999999999,"position":0,"byte":0,"end_byte":82)"), gone);
  expect_refused(blamed(R"("document":"x")"), "does not have a run's format");
  spit(file, "[1, 2");
  expect_refused("blame " + file, "is not an incident file");
  expect_refused("blame " + *this / "missing.json", "missing.json");
  expect_refused("blame", "give the incident's file");
}

class Layouts : public Incidents, public testing::WithParamInterface<const char*> {};

TEST_P(Layouts, NameTheRank) {
  if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun";
  const std::string data = letters(), flags = GetParam();
  const bool stages = flags.find("pipeline") != std::string::npos;  // layer 1 is on rank 1
  const std::vector<Planting> plantings = {{"layers.1.mlp.activate.0", 1, 1, 12, 1, 1},
                                           {"layers.0.attention.einsum.0", 0, 0, 25, 0, 0},
                                           {"backward.layers.1.mlp.activate_grad.0", 1, 1, 5, 0, 0},
                                           {"backward.layers.0.mlp.activate_grad.0", stages ? 0 : 1, 0, 31, 1, 1}};
  const int batch = flags.find("model-parallel") != std::string::npos ? 4 : 8;
  const Ran ran =
      megalith(run(data, fmt::format("--global-batch-size {} {} {}", batch, flags, inject(plantings))), {.ranks = 2});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  expect_all_named(plantings, data, [&](int i) { return incident(i); });
}

INSTANTIATE_TEST_SUITE_P(Two, Layouts,
                         testing::Values("", "--tensor-model-parallel-size 2", "--pipeline-model-parallel-size 2"));

// Ranks with experts have buffers for more rows than they use. The check must ignore unwritten rows.
TEST_F(Incidents, LookAtRowsThatAreThere) {
  if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun";
  const std::string data = letters();
  const std::vector<Planting> plantings = {{"head.einsum.0", 1, -1, 7, 1, 1}};
  const Ran ran = megalith(run(data,
                               "--num-experts 4 --moe-router-topk 2 --expert-model-parallel-size 2 "
                               "--global-batch-size 8 " +
                                   inject(plantings)),
                           {.ranks = 2});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  expect_all_named(plantings, data, [&](int i) { return incident(i); });
}

// A non-finite weight is the cause. The report names it and no document.
TEST_F(Incidents, NameTheWeight) {
  const Ran ran = megalith(run(letters(),
                               "--train-iters 3 --save-interval 3 --inject-allowed --inject "
                               "flip@0:2:weight:name=decoder.final_layernorm.weight:bit=30"));
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.err.find("weights are not finite"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("tensor decoder.final_layernorm.weight (1 of 32 numbers)"), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("document"), std::string::npos) << ran.err;
  EXPECT_FALSE(std::filesystem::exists(*this / "save/iter_0000003"));
}

// A skipped step runs again for diagnosis. That must not change random numbers or counters.
class Traces : public Incidents, public testing::WithParamInterface<const char*> {};

TEST_P(Traces, AreNotLeft) {
  const std::string data = letters();
  const std::string flags =
      std::string(GetParam()) + " --train-iters 6 --global-batch-size 4 --save-interval 3 --metrics-file ";
  must(run(data, flags + *this / "whole.jsonl" + " --inject-allowed --inject nan@0:3:head.einsum.0:micro-batch=1"));
  ASSERT_TRUE(incident(3).is_object());
  std::filesystem::rename(*this / "save", *this / "whole");
  must(run(data, flags + *this / "parts.jsonl" + " --load " + *this / "whole" + " --ckpt-step 3"));
  const auto whole = digits(*this / "whole.jsonl"), parts = digits(*this / "parts.jsonl");
  ASSERT_TRUE(parts.contains("6 lm_loss")) << slurp(*this / "parts.jsonl");
  for (const auto& [key, value] : parts) EXPECT_EQ(whole.at(key), value) << key;
  const Ran same = megalith("inspect --diff " + *this / "whole/iter_0000006" + " " + *this / "save/iter_0000006");
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
}

INSTANTIATE_TEST_SUITE_P(Kept, Traces,
                         testing::Values("--hidden-dropout 0.1 --attention-dropout 0.1",
                                         "--num-experts 4 --moe-router-topk 2 --moe-router-score-function sigmoid "
                                         "--moe-router-enable-expert-bias",
                                         "--fp8-format hybrid --fp8-recipe delayed"));

// After a skipped step, weights and moments equal those before it.
TEST_F(Incidents, ChangeNoWeight) {
  const std::string data = letters();
  must(run(data, "--train-iters 3 --save-interval 1 --inject-allowed --inject nan@0:3:head.einsum.0"));
  ASSERT_TRUE(incident(3).is_object());
  const Ran same = megalith("inspect --diff " + *this / "save/iter_0000002" + " " + *this / "save/iter_0000003");
  EXPECT_EQ(same.exit_code, 0) << same.out;
  const Ran other = megalith("inspect --diff " + *this / "save/iter_0000001" + " " + *this / "save/iter_0000002");
  EXPECT_EQ(other.exit_code, 1) << other.out;
}

// The model soon learns documents of one letter. A document with other letters is then a loss spike, at any position.
TEST_F(Incidents, TellSpikesFromData) {
  std::string text;
  for (int d = 0; d < 120; ++d) {
    std::string line(40, 'a');
    for (size_t i = 0; i < line.size() && d % 40 == 39; ++i) line[i] = char('A' + (7 * i + i * i % 13) % 26);
    text += line + "\n";
  }
  const std::string data = documents("spiky", text);
  must(run(data, "--train-iters 60 --save-interval 60 --lr-warmup-iters 2 --metrics-file " + *this / "m.jsonl"));
  int spikes = 0;
  for (int i = 1; i <= 60; ++i) {
    const json found = incident(i);
    if (!found.is_object()) continue;
    EXPECT_EQ(found["kind"], "spike");
    EXPECT_EQ(found["decision"], "kept");
    bool has_bad = false;
    for (const json& sample : found["samples"])
      for (const json& d : sample["documents"]) has_bad = has_bad || d["document"].get<int>() % 40 == 39;
    spikes += has_bad;
    EXPECT_TRUE(has_bad || found["loss_spike"] == false) << i;
  }
  EXPECT_GE(spikes, 1);
  EXPECT_NE(slurp(*this / "m.jsonl").find("\"grad_norm_spikes\":"), std::string::npos);
}

// All ranks have the same number of tokens, so the mean of their losses is the loss.
TEST_F(Incidents, RanksTellTheirLosses) {
  if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun";
  const Ran ran = megalith(run(letters(), "--train-iters 2 --save-interval 2 --global-batch-size 8 --log-rank-losses"),
                           {.ranks = 2});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const double zero = last_number(ran.out, "rank losses: data-parallel rank 0 ");
  const double one = last_number(ran.out, "| data-parallel rank 1 "), loss = last_number(ran.out, "| lm loss: ");
  EXPECT_GT(zero, 0) << ran.out;
  EXPECT_NE(zero, one);
  EXPECT_NEAR((zero + one) / 2, loss, 1e-5 * loss);  // six digits are printed
}

TEST_F(Incidents, IterationsAreLeftOut) {
  const std::string data = letters();
  const Ran ran =
      must(run(data, "--train-iters 5 --save-interval 5 --iterations-to-skip 1 3 --metrics-file " + *this / "m.jsonl"));
  EXPECT_NE(ran.out.find("iteration 2: its 2 samples are skipped"), std::string::npos) << ran.out;
  const auto told = digits(*this / "m.jsonl");
  EXPECT_FALSE(told.contains("2 consumed_samples"));
  EXPECT_FALSE(told.contains("4 consumed_samples"));
  EXPECT_EQ(told.at("3 consumed_samples"), "6");
  EXPECT_EQ(told.at("5 consumed_samples"), "10");
}

// The loss of an iteration is that of its remaining samples. A batch of two without one sample equals a batch of the
// other sample.
TEST_F(Incidents, SamplesAreLeftOut) {
  const std::string data = letters();
  const std::string flags = "--train-iters 3 --save-interval 3 --global-batch-size 4 --lr 0 --min-lr 0 --metrics-file ";
  must(run(data, flags + *this / "all.jsonl"));
  spit(*this / "skip.txt", "# found by hand\n5-6  # of iteration 2\n400\n");
  std::filesystem::remove_all(*this / "save");
  const Ran ran = must(run(data, flags + *this / "some.jsonl --skip-samples " + *this / "skip.txt"));
  EXPECT_NE(ran.out.find("iteration 2: 2 of its 4 samples are left out (--skip-samples): 5-6"), std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("skipped samples:            2"), std::string::npos) << ran.out;
  const auto all = digits(*this / "all.jsonl"), some = digits(*this / "some.jsonl");
  EXPECT_EQ(all.at("1 lm_loss"), some.at("1 lm_loss"));
  EXPECT_NE(all.at("2 lm_loss"), some.at("2 lm_loss"));
  EXPECT_EQ(all.at("3 lm_loss"), some.at("3 lm_loss"));
  EXPECT_EQ(some.at("2 consumed_samples"), "8") << "they are consumed";
  // The mean loss of samples 4 and 7, each in an iteration with one sample.
  const auto loss_of = [&](int sample) {
    std::string others;
    for (int s = 0; s < 12; ++s)
      if (s != sample) others += fmt::format("{}\n", s);
    spit(*this / "others.txt", others);
    std::filesystem::remove_all(*this / "save");
    const std::string file = *this / fmt::format("of{}.jsonl", sample);
    must(run(data, flags + file + " --skip-samples " + *this / "others.txt"));
    return std::stod(digits(file).at("2 lm_loss"));
  };
  const double mean = (loss_of(4) + loss_of(7)) / 2;
  EXPECT_NEAR(std::stod(some.at("2 lm_loss")), mean, 1e-5 * mean);
  // The checkpoint has the number of omitted samples. A resumed run omits the following ones.
  std::filesystem::remove_all(*this / "save");
  must(run(data, flags + *this / "a.jsonl --exit-interval 2 --skip-samples " + *this / "skip.txt"));
  spit(*this / "skip.txt", "5-6\n11\n");
  const Ran resumed =
      must(run(data, flags + *this / "b.jsonl --load " + *this / "save" + " --skip-samples " + *this / "skip.txt"));
  EXPECT_NE(resumed.out.find("iteration 3: 1 of its 4 samples is left out (--skip-samples): 11"), std::string::npos);
  EXPECT_NE(resumed.out.find("skipped samples:            3"), std::string::npos) << resumed.out;
}

TEST_F(Incidents, RanksLeaveOutTheSameSamples) {
  if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun";
  const std::string data = letters(),
                    flags = "--train-iters 2 --save-interval 2 --global-batch-size 8 --lr 1e-3 --metrics-file ";
  spit(*this / "skip.txt", "1\n4-7\n9\n");
  const std::string skip = " --skip-samples " + *this / "skip.txt";
  must(run(data, flags + *this / "one.jsonl" + skip));
  std::filesystem::remove_all(*this / "save");
  const Ran ran = megalith(run(data, flags + *this / "two.jsonl" + skip), {.ranks = 2});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto one = digits(*this / "one.jsonl"), two = digits(*this / "two.jsonl");
  for (const char* loss : {"1 lm_loss", "2 lm_loss"})
    EXPECT_NEAR(std::stod(one.at(loss)), std::stod(two.at(loss)), 1e-5 * std::stod(one.at(loss)));
}

TEST_F(Incidents, BlameWritesTheSamplesToLeaveOut) {
  const std::string data = letters();
  const std::string plant =
      "--inject-allowed --inject nan@0:2:layers.1.mlp.activate.0:position=20:row=1:micro-batch=1 ";
  must(run(data, "--train-iters 3 --save-interval 3 --global-batch-size 4 " + plant));
  const std::string file = *this / "save/incidents/iter_0000002.json", list = *this / "skip.txt";
  const json found = incident(2);
  const int sample = found["first_non_finite"]["sample"];
  EXPECT_EQ(sample, 7) << "the second row of the second micro-batch of iteration 2";
  must("blame " + file + " --write-samples " + list);
  EXPECT_EQ(slurp(list).find("# iteration 2: not finite\n7  # document "), 0u) << slurp(list);
  must("blame " + file + " --all --write-samples " + list);
  for (const int s : {4, 5, 6, 7}) EXPECT_NE(slurp(list).find(fmt::format("\n{}  # document ", s)), std::string::npos);
  spit(list, "");
  must("blame " + file + " --write-samples " + list);
  std::filesystem::remove_all(*this / "save");
  const Ran ran = must(run(data, "--train-iters 3 --save-interval 3 --global-batch-size 4 --skip-samples " + list));
  EXPECT_NE(ran.out.find("iteration 2: 1 of its 4 samples is left out (--skip-samples): 7"), std::string::npos);
  spit(*this / "incident.json", found.dump());
  expect_refused("blame " + *this / "incident.json --write-samples " + *this / "save", "--write-samples");
}

TEST_F(Incidents, ListsOfSamplesThatCannotBeReadAreRefused) {
  const std::string data = letters();
  const auto refused = [&](const std::string& text, const std::string& part) {
    spit(*this / "skip.txt", text);
    expect_refused(run(data, "--train-iters 1 --save-interval 1 --skip-samples " + *this / "skip.txt"), part);
  };
  refused("12\nabc\n", "line 2 is 'abc': give a sample's number");
  refused(std::string("\0\x01", 2), "line 1 is");
  expect_refused(run(data, "--train-iters 1 --save-interval 1 --skip-samples " + *this / "none.txt"), "none.txt");
  expect_refused(run(data, "--train-iters 1 --save-interval 1 --skip-samples " + *this / ""), "not a regular file");
  spit(*this / "skip.txt", "# none\n");
  const Ran ran = must(run(data, "--train-iters 1 --save-interval 1 --skip-samples " + *this / "skip.txt"));
  EXPECT_NE(ran.err.find("it names no sample"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace megalith::test
