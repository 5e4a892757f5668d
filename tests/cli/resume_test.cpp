// Kills and restarts runs. Their losses and weights must equal those of an undisturbed run.
#include <algorithm>
#include <filesystem>
#include <random>

#include "ckpt/native/shards.h"
#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

struct ResumeCase {
  const char* name;
  const char* flags;
};

// Prints the name in test reports, not pointers and flags.
void PrintTo(const ResumeCase& c, std::ostream* out) { *out << c.name; }

constexpr ResumeCase kResumeCases[] = {
    {"f32_single",
     "--global-batch-size 4 --hidden-dropout 0.1 --attention-dropout 0.1 --eval-interval 6 --log-interval 4 "
     "--lr-decay-style cosine --lr-warmup-iters 7 --weight-decay 0.1"},
    {"bf16_cyclic",
     "--bf16 --global-batch-size 6 --dataloader-type cyclic --hidden-dropout 0.2 --eval-interval 5 --log-interval 1 "
     "--reset-position-ids --reset-attention-mask --position-embedding-type rope --swiglu --normalization RMSNorm"},
    {"growing_batches",
     "--rampup-batch-size 2 2 120 --global-batch-size 8 --hidden-dropout 0.1 --lr-decay-style cosine --decoupled-lr "
     "5e-4 "
     "--decoupled-min-lr 1e-4 --eval-interval 6 --start-eval-at-iter 10 --log-interval 4"},
    {"sgd_no_readahead",
     "--optimizer sgd --num-workers 0 --lr-decay-style linear --start-weight-decay 0.01 --end-weight-decay 0.1 "
     "--weight-decay-incr-style linear --eval-interval 7 --log-interval 3 --attention-dropout 0.1"},
};

i64 lines(const std::string& path) {
  const std::string text = slurp(path);
  return std::ranges::count(text, '\n');
}

bool is_saving(const std::string& dir) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dir, error))
    if (entry.path().filename().string().find(".tmp-") != std::string::npos) return true;
  return false;
}

class Resume : public Workshop, public ::testing::WithParamInterface<ResumeCase> {
 protected:
  std::string line(const std::string& name) {
    return pretrain(
        fmt::format("{} --train-iters 40 --save-interval 5 --most-recent-k 3 --split 80,15,5 --save {} --load "
                    "{} --metrics-file {}",
                    GetParam().flags, *this / name, *this / name, *this / (name + ".jsonl")));
  }
};

TEST_P(Resume, SameDigitsAfterKills) {
  must(line("whole"));
  std::mt19937 random(7);
  int kills = 0;
  for (int attempt = 0; attempt < 8; ++attempt) {
    const i64 more = lines(*this / "cut.jsonl") + i64(random() % 12);
    const bool while_saving = attempt % 2 == 1;
    RunLimits limits;
    limits.kill = [&] { return lines(*this / "cut.jsonl") >= more && (!while_saving || is_saving(*this / "cut")); };
    const Ran ran = megalith(line("cut"), limits);
    if (ran.ok()) break;
    ASSERT_EQ(ran.signal, 9) << ran.err;
    ++kills;
  }
  EXPECT_GT(kills, 1);
  const Ran last = must(line("cut"));
  EXPECT_EQ(digits(*this / "cut.jsonl"), digits(*this / "whole.jsonl"));
  for (const std::string file : {"latest_checkpointed_iteration.txt", "iter_0000040/shard_00000.safetensors"}) {
    EXPECT_FALSE(slurp(*this / "whole/" + file).empty()) << file;
    EXPECT_TRUE(slurp(*this / "whole/" + file) == slurp(*this / "cut/" + file)) << file;
  }
  EXPECT_FALSE(fs::exists(*this / "cut/iter_0000020"));  // --most-recent-k 3
  EXPECT_TRUE(fs::exists(*this / "cut/iter_0000030"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Resume, ::testing::ValuesIn(kResumeCases),
                         [](const auto& info) { return info.param.name; });

class Checkpoints : public Workshop {
 protected:
  std::string run(const std::string& more) {
    return pretrain("--save " + *this / "ck" + " --load " + *this / "ck" + " --save-interval 2 " + more);
  }
  std::vector<std::string> kept() {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(*this / "ck"))
      if (entry.is_directory()) out.push_back(entry.path().filename().string().substr(5));
    std::ranges::sort(out);
    return out;
  }
};

TEST_F(Checkpoints, AreKeptByIntervalAndNumber) {
  must(run("--train-iters 11 --save-retain-interval 4"));
  EXPECT_EQ(kept(), (std::vector<std::string>{"0000004", "0000008", "0000011"}));
  must(run("--train-iters 16 --save-retain-interval 8 --most-recent-k 2 --override-opt-param-scheduler"));
  EXPECT_EQ(kept(), (std::vector<std::string>{"0000008", "0000014", "0000016"}));
  must(run("--train-iters 20 --most-recent-k 1 --override-opt-param-scheduler"));
  EXPECT_EQ(kept(), (std::vector<std::string>{"0000020"}));
}

TEST_F(Checkpoints, FinishedRunIsNotSavedAgain) {
  must(run("--train-iters 4"));
  const auto before = fs::last_write_time(*this / "ck/iter_0000004/manifest.json");
  const Ran again = must(run("--train-iters 4"));
  EXPECT_EQ(fs::last_write_time(*this / "ck/iter_0000004/manifest.json"), before);
  EXPECT_NE(again.out.find("at iteration 4"), std::string::npos);
}

// A checkpoint of many ranks has more files than the usual limit of open files.
TEST_F(Checkpoints, OfManyRanksCanBeRead) {
  constexpr int kRanks = 90;
  const std::string dir = *this / "many";
  std::vector<std::string> accounts;
  fs::create_directory(dir);
  SaveSteps steps(dir, 3, {});
  const std::string temporary = steps.begin();
  for (int r = 0; r < kRanks; ++r) {
    const float value = float(r);
    ShardWriter part({.iteration = 3}, {{"w", {1}, DType::f32, &value, {kRanks}, {r}}}, r, {});
    accounts.push_back(part.write(temporary));
    if (r + 1 == kRanks) steps.commit(part, accounts);
  }
  const Ran ran = megalith("inspect " + dir + " --tensor w", {.open_files = 40});
  EXPECT_EQ(ran.err, "");
  EXPECT_TRUE(ran.ok()) << ran.out;
}

// If the schedule differs, the start is refused with the values of both schedules. A flag can select one.
TEST_F(Checkpoints, ScheduleMustAgree) {
  must(run("--train-iters 4 --lr 1e-3 --lr-decay-style cosine"));
  const std::string other = "--train-iters 8 --lr 5e-4 --lr-decay-style linear --log-interval 1 ";
  const Ran refused = megalith(run(other));
  expect_refused(refused, "--override-opt-param-scheduler");
  for (const char* row :
       {"lr: 0.001 there, 0.0005 here; ", "lr_decay_style: \"cosine\" there, \"linear\" here", "lr_decay_samples: "})
    EXPECT_NE(refused.err.find(row), std::string::npos) << refused.err;
  const std::string copy = *this / "copy";
  fs::copy(*this / "ck", copy, fs::copy_options::recursive);
  const Ran flags = must(run(other + "--override-opt-param-scheduler"));
  EXPECT_NE(flags.out.find("learning rate: 1.875000E-04 |"), std::string::npos) << flags.out;  // 5e-4 (1 - 5/8)
  fs::remove_all(*this / "ck");
  fs::rename(copy, *this / "ck");
  const Ran stored = must(run(other + "--use-checkpoint-opt-param-scheduler"));
  EXPECT_NE(stored.out.find("learning rate: 0.000000E+00 |"), std::string::npos) << stored.out;  // after the decay
  must(run("--train-iters 10 --lr 5e-4 --use-checkpoint-opt-param-scheduler"));  // the schedule in use is the one in
                                                                                 // the save
  expect_refused(run("--train-iters 12 --lr 5e-4"), "--override-opt-param-scheduler");
}

TEST_F(Checkpoints, OfAnotherModelAreRefusedWithBothValues) {
  must(run("--train-iters 2"));
  const Ran wider = megalith(run("--train-iters 4 --hidden-size 64"));
  expect_refused(wider, "holds another model");
  EXPECT_NE(wider.err.find("hidden_size: 32 there, 64 here"), std::string::npos) << wider.err;
  expect_refused(run("--train-iters 4 --swiglu"), "activation");
  expect_refused(run("--train-iters 4 --finetune --num-layers 3"), "num_layers");
  expect_refused(run("--train-iters 4 --finetune"), "it would overwrite them");
  expect_refused(run("--train-iters 4 --optimizer sgd --override-opt-param-scheduler"), "--optimizer");
}

// If --load is named like a checkpoint, or has parts of one, the run must not start from random weights.
TEST_F(Checkpoints, ThatAreNotWholeAreNoEmptyDirectories) {
  must(run("--train-iters 2 --ckpt-format torch_dist"));
  const std::string whole = *this / "ck/iter_0000002", part = *this / "part", load = "--train-iters 2 --load ";
  fs::copy(whole, part);
  fs::remove(part + "/.metadata");
  expect_refused(pretrain(load + part), "part has no .metadata");
  for (const auto& entry : fs::directory_iterator(part))
    if (entry.path().extension() == ".distcp") fs::remove(entry.path());
  expect_refused(pretrain(load + part), ", but no checkpoint that is read");
  fs::remove_all(whole), fs::create_directories(whole);
  expect_refused(pretrain(load + whole), "iter_0000002: this is the name of a checkpoint, but it contains none");
  fs::remove(part + "/common.pt"), fs::remove(part + "/metadata.json");
  must(pretrain(load + part));  // an ordinary directory
}

TEST_F(Checkpoints, MayBeLinksToAnotherDisk) {
  must(run("--train-iters 4"));
  fs::create_directories(*this / "archive");
  fs::rename(*this / "ck/iter_0000004", *this / "archive/old");
  fs::create_directory_symlink(*this / "archive/old", *this / "ck/iter_0000004");
  must(run("--train-iters 6 --override-opt-param-scheduler"));
  EXPECT_EQ(kept(), (std::vector<std::string>{"0000002", "0000004", "0000006"}));
  fs::create_directory_symlink(*this / "ck/iter_0000006", *this / "newest");
  must(pretrain("--train-iters 8 --save-interval 2 --override-opt-param-scheduler --save " + *this / "ck" + " --load " +
                *this / "newest"));
}

// As in Megatron-LM, a checkpoint named "release" starts at iteration 0 without optimizer state, whatever is stored.
TEST_F(Checkpoints, OfTheNameReleaseAreToBeginWith) {
  must(run("--train-iters 4"));
  const std::string model = *this / "model";
  fs::create_directories(model), fs::rename(*this / "ck/iter_0000004", model + "/release");
  spit(model + "/latest_checkpointed_iteration.txt", "release");
  for (const std::string load : {model, model + "/release/"}) {
    const Ran ran = must(pretrain("--train-iters 2 --log-interval 1 --load " + load));
    EXPECT_NE(ran.out.find("iteration        1/       2 | consumed samples:            2"), std::string::npos)
        << ran.out;
  }
  expect_refused("convert --to native --load " + model + " --save " + model + "/release/x", "/release is a checkpoint");
  fs::remove(model + "/release/manifest.json");
  expect_refused("convert --to native --load " + *this / "ck" + " --save " + model + "/release", "by its name this");
}

TEST_F(Checkpoints, AreNotWrittenOverByWhatStartsFromThem) {
  must(run("--train-iters 4"));
  const std::string ck = *this / "ck", ft = " --finetune --train-iters 2 --save-interval 2 --save ";
  for (const std::string& load : {ck, ck + "/iter_0000002", ck + "/../ck/iter_0000004/"})
    expect_refused(pretrain("--load " + load + ft + ck), "it would overwrite them");
  expect_refused(pretrain("--load " + ck + ft + ck + "/iter_0000002"), "/iter_0000002: this is a checkpoint");
  expect_refused(pretrain("--load " + ck + ft + *this / "ft" +
                          " --non-persistent-save-interval 1 --non-persistent-ckpt-type global "
                          "--non-persistent-global-ckpt-dir " +
                          ck + "/iter_0000002"),
                 "/iter_0000002: this is a checkpoint");
  expect_refused(pretrain("--load " + ck + ft + ck + "/iter_0000002/a/b"),
                 "/iter_0000002 is a checkpoint, and deleting it");
  expect_refused(pretrain("--load " + ck + ft + *this / "new/iter_0000001"), "this is a name of checkpoints");
  EXPECT_FALSE(fs::exists(*this / "new"));
  EXPECT_EQ(kept(), (std::vector<std::string>{"0000002", "0000004"}));
  must(pretrain("--load " + ck + ft + ck + "-finetuned"));
  // The same command starts the job again, or the user forgot --load.
  expect_refused(pretrain("--load " + ck + ft + ck + "-finetuned"),
                 "-finetuned without --finetune to resume from them");
  const std::string other = "--train-iters 4 --save-interval 2 --save " + ck + "-finetuned ";
  expect_refused(pretrain(other), "holds checkpoints up to iteration 2, which this run does not resume from");
  expect_refused(pretrain(other + "--load " + ck), "it would overwrite them");
  must(pretrain(other + "--override-opt-param-scheduler --load " + ck + "-finetuned"));
  fs::create_directories(*this / "run"), fs::rename(ck, *this / "run/base");  // in --save, but not written by this run
  must(pretrain("--load " + *this / "run/base" + ft + *this / "run"));
  EXPECT_TRUE(fs::exists(*this / "run/base/iter_0000002") && fs::exists(*this / "run/iter_0000002"));
}

TEST_F(Checkpoints, OtherSettingsAreTold) {
  must(run("--train-iters 2 --lr-decay-iters 9"));
  const Ran ran = must(run("--train-iters 4 --lr-decay-iters 9 --seed 5 --clip-grad 2"));
  EXPECT_NE(ran.err.find("seed 1234 -> 5"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("clip_grad 1.0 -> 2.0"), std::string::npos) << ran.err;
}

// With more iterations the order of the samples is the same, until they are read once more.
TEST_F(Checkpoints, AnotherNumberOfEpochsIsTold) {
  const std::string one = "--override-opt-param-scheduler --split 100,0,0 ";
  must(run(one + "--train-iters 2"));
  const auto tells = [&](int iterations) {
    const Ran ran = must(run(one + fmt::format("--train-iters {} --exit-interval 4", iterations)));
    return ran.err.find("with another number of epochs their order differs") != std::string::npos;
  };
  EXPECT_FALSE(tells(4));
  EXPECT_TRUE(tells(100000));
}

// A blend has as many samples as the run needs: the samples that were read and those that will be read.
TEST_F(Checkpoints, AnotherBatchSizeHasTheSamplesItNeeds) {
  const std::string blend = "--override-opt-param-scheduler --data-path 1 " + data() + " ";
  const auto last = [](const Ran& ran) { return last_number(ran.out, "consumed samples:"); };
  must(run(blend + "--log-interval 1 --train-iters 10 --global-batch-size 8"));
  const Ran smaller = must(run(blend + "--log-interval 1 --train-iters 30 --global-batch-size 2"));
  EXPECT_EQ(last(smaller), 80 + 20 * 2);
  EXPECT_EQ(smaller.err.find("had 80 training samples"), std::string::npos) << "one epoch: " << smaller.err;
  const Ran by_samples = must(run(blend + "--log-interval 1 --train-samples 200 --global-batch-size 4"));
  EXPECT_EQ(last(by_samples), 200);
  EXPECT_NE(by_samples.out.find("iteration       50/      50"), std::string::npos) << by_samples.out;
}

// The newest checkpoint has read more samples than the older one. The run resumes from the older one.
TEST_F(Checkpoints, DamageIsNoLackOfSamples) {
  const std::string blend = "--override-opt-param-scheduler --data-path 1 " + data() + " ";
  must(run(blend + "--train-iters 4 --global-batch-size 2"));
  must(run(blend + "--train-iters 6 --global-batch-size 4"));
  std::string shard = slurp(*this / "ck/iter_0000006/shard_00000.safetensors");
  shard[20000] ^= 1;
  spit(*this / "ck/iter_0000006/shard_00000.safetensors", shard);
  const Ran ran = must(run(blend + "--log-interval 1 --train-iters 12 --global-batch-size 8"));
  EXPECT_EQ(last_number(ran.out, "consumed samples:"), 8 + 8 * 8) << ran.err;
}

TEST_F(Checkpoints, NothingLeftToTrainIsSaid) {
  must(run("--train-iters 4"));
  EXPECT_NE(must(run("--train-iters 4")).out.find("nothing is left to train: the run has done 4 iterations"),
            std::string::npos);
  const Ran less = must(run("--train-samples 3 --override-opt-param-scheduler"));
  EXPECT_NE(less.out.find("the run has done 8 samples, --train-samples is 3"), std::string::npos) << less.out;
}

TEST_F(Checkpoints, FinetuneAndPartsOfTheState) {
  must(run("--train-iters 4"));
  const std::string load = "--load " + *this / "ck" + " --train-iters 2 --log-interval 1 ";
  const Ran finetune = must(pretrain(load + "--finetune"));
  EXPECT_NE(finetune.out.find("iteration        1/       2 | consumed samples:            2"), std::string::npos);
  must(run(
      "--train-iters 6 --no-load-optim --no-save-optim --no-load-rng --no-save-rng --override-opt-param-scheduler"));
  expect_refused(run("--train-iters 8 --override-opt-param-scheduler"), "--no-load-optim");
  must(run("--train-iters 8 --no-load-optim --override-opt-param-scheduler"));
  const Ran older = must(pretrain("--load " + *this / "ck" + " --ckpt-step 4 --train-iters 4"));
  EXPECT_NE(older.out.find("at iteration 4"), std::string::npos);
  expect_refused(pretrain("--load " + *this / "ck" + " --ckpt-step 5 --train-iters 4"), "iterations [2, 4, 6, 8]");
}

// If the latest checkpoint is damaged, the run loads the previous one and prints a line.
TEST_F(Checkpoints, DamageFallsBackToTheOneBefore) {
  must(run("--train-iters 4"));
  fs::resize_file(*this / "ck/iter_0000004/shard_00000.safetensors", 1000);
  const Ran ran = must(run("--train-iters 4"));
  EXPECT_NE(ran.err.find("loading"), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("loading"), ran.err.rfind("loading")) << "told once\n" << ran.err;
  EXPECT_NE(ran.out.find("loaded checkpoint from"), std::string::npos);
  EXPECT_NE(ran.out.find("at iteration 2"), std::string::npos) << ran.out;
}

// The disk fills during a save. Training continues, and the previous checkpoint is intact.
TEST_F(Checkpoints, FullDiskIsAWarning) {
  must(run("--train-iters 2 --lr-decay-iters 9"));
  RunLimits full;
  full.file_bytes = 60000;  // less than the tensors of one checkpoint
  const Ran ran = megalith(run("--train-iters 6 --lr-decay-iters 9"), full);
  EXPECT_EQ(ran.exit_code, 1) << "its last state is lost\n" << ran.err;
  EXPECT_NE(ran.err.find("was not saved, training continues"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("File too large"), std::string::npos) << ran.err;
  EXPECT_EQ(kept(), std::vector<std::string>{"0000002"});
  const Ran after = must(run("--train-iters 4 --lr-decay-iters 9"));
  EXPECT_NE(after.out.find("at iteration 2"), std::string::npos);
}

}  // namespace
}  // namespace megalith::test
