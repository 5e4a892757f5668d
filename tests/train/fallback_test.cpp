// A start must detect and name damaged checkpoints. All ranks then load the previous one.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "ckpt/tensors/safetensors.h"
#include "ckpt/torch/torch_dist.h"
#include "comm/on_all_ranks.h"
#include "exec/cpu/backend.h"
#include "files.h"
#include "resume/agreed_start.h"
#include "resume/run_begin.h"
#include "settings/schedules.h"
#include "small_run.h"
#include "step/model_state.h"
#include "tests/harness/thread_ranks.h"
#include "train/pretrain.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

// Saves checkpoints at iterations 2, 4 and so on. Each of two ranks writes its part.
void save_run(const std::string& dir, int iterations) {
  testing::internal::CaptureStdout();
  harness::run_ranks(2, [&](Ranks& ranks) {
    pretrain(options_for(2, fmt::format("--use-distributed-optimizer --train-iters {} --save {} --save-interval 2",
                                        iterations, dir)),
             *make_cpu_backend(&ranks), ranks);
  });
  testing::internal::GetCapturedStdout();
}

// The iterations that two ranks load, each from its own directory, and their messages.
struct Found {
  std::vector<i64> iterations{-1, -1};
  std::string said;
};

// All starts here have this plan. It does not depend on the checkpoint directory.
PlannedStep plan_of_starts() {
  const Options o = options_for(2, "--use-distributed-optimizer --train-iters 4");
  return plan_step(step_spec(o), *make_cpu_backend());
}

// `once_open`: called after a checkpoint is opened and before it is read.
Found start_in(
    const std::string& first, const std::string& second, int iterations, const PlannedStep& step,
    const std::function<void()>& once_open = [] {}) {
  Found f;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  harness::run_ranks(2, [&](Ranks& ranks) {
    const Options o = options_for(2, fmt::format("--use-distributed-optimizer --train-iters {} --load {}", iterations,
                                                 ranks.rank() ? second : first));
    const auto backend = make_cpu_backend(&ranks);
    const Coord coord = step.plan.mesh.coord(ranks.rank());
    const auto interpreter = backend->make_interpreter(step.plan, coord);
    ModelState model(step, *interpreter, coord);
    RunStart chosen = choose_start(o, ranks);
    ranks.barrier();
    if (ranks.rank() == 0) once_open();
    ranks.barrier();
    const RunStart start = fill_model(o, ranks, std::move(chosen), model);
    f.iterations[std::size_t(ranks.rank())] = start.iteration().value_or(-1);
  });
  f.said = testing::internal::GetCapturedStderr();
  testing::internal::GetCapturedStdout();
  return f;
}

// The tensor that contains this byte of a file. Empty if no tensor does.
std::string tensor_at(const std::string& path, i64 byte) {
  const TensorFiles content = TensorFiles::open_file(path);
  for (const TensorInfo& t : content.tensors())
    if (byte >= t.offset && byte < t.offset + t.bytes) return t.name.substr(0, t.name.find('@'));
  return "";
}

TEST(Fallback, of_500_flipped_bits_each_is_found_and_named) {
  const TempFolder folder("flips");
  const std::string dir = (folder.path / "ck").string();
  save_run(dir, 4);
  std::vector<std::string> files = {dir + "/latest_checkpointed_iteration.txt"};
  for (const auto& entry : fs::directory_iterator(dir + "/iter_0000004")) files.push_back(entry.path().string());
  std::ranges::sort(files);
  ASSERT_GE(files.size(), 5u);  // the latest file, manifest, checksums and the shards of two ranks
  std::mt19937 random(20240607);
  int found = 0, in_tensors = 0;
  constexpr int kFlips = 500;
  const PlannedStep step = plan_of_starts();
  for (int i = 0; i < kFlips; ++i) {
    const std::string& path = files[std::size_t(i) % files.size()];
    const std::size_t bit = random() % (fs::file_size(path) * 8);
    const std::string tensor = path.ends_with(".safetensors") ? tensor_at(path, i64(bit / 8)) : "";
    flip(path, bit);
    const Found f = start_in(dir, dir, 4, step);
    flip(path, bit);
    const bool is_latest = path.ends_with(".txt") && path.find("latest") != std::string::npos;
    const i64 expected = is_latest ? 4 : 2;  // if the latest file is damaged, the newest checkpoint
    const std::string name = path.substr(path.rfind('/') + 1);
    const bool is_good = f.iterations == std::vector<i64>{expected, expected} &&
                         f.said.find(name) != std::string::npos &&
                         (tensor.empty() || f.said.find("tensor " + tensor) != std::string::npos);
    EXPECT_TRUE(is_good) << "bit " << bit << " of " << path << " (" << tensor << "): iteration " << f.iterations[0]
                         << " and " << f.iterations[1] << "\n"
                         << f.said;
    found += is_good, in_tensors += !tensor.empty();
  }
  fmt::print("{} of {} flipped bits found and named, {} of them in tensors, over {} files\n", found, kFlips, in_tensors,
             files.size());
  EXPECT_GT(in_tensors, kFlips / 4);
  const Found whole = start_in(dir, dir, 4, step);
  EXPECT_EQ(whole.iterations, (std::vector<i64>{4, 4}));
  EXPECT_EQ(whole.said, "");
}

// Each rank has its own copy of the directory. On each rank a different checkpoint is damaged.
TEST(Fallback, ranks_agree_on_one_that_is_whole_for_all) {
  const TempFolder folder("agree");
  const std::string a = (folder.path / "a").string(), b = (folder.path / "b").string();
  save_run(a, 8);
  fs::copy(a, b, fs::copy_options::recursive);
  const auto damage = [](const std::string& dir, int iteration, int rank) {
    flip(fmt::format("{}/iter_{:07}/shard_{:05}.safetensors", dir, iteration, rank), 70000);
  };
  ASSERT_TRUE(fs::exists(a + "/iter_0000008/shard_00000.safetensors"));
  damage(a, 8, 0);
  Found f = start_in(a, b, 8, plan_of_starts());
  EXPECT_EQ(f.iterations, (std::vector<i64>{6, 6}));
  EXPECT_NE(f.said.find("wrong checksum; tensor "), std::string::npos) << f.said;
  EXPECT_NE(f.said.find("; looking for an older one"), std::string::npos) << f.said;
  damage(b, 6, 1);  // the newest common checkpoint is damaged on the second rank
  f = start_in(a, b, 8, plan_of_starts());
  EXPECT_EQ(f.iterations, (std::vector<i64>{4, 4})) << f.said;
  fs::remove_all(b);
  fs::create_directories(b);
  try {
    harness::run_ranks(2,
                       [&](Ranks& ranks) { agreed_start(options_for(2, "--load " + (ranks.rank() ? b : a)), ranks); });
    ADD_FAILURE() << "a rank that finds nothing begins anew by itself";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(
                  "rank 0 finds iteration 8, rank 1 finds no checkpoint: give all hosts the same directory"),
              std::string::npos)
        << e.what();
  }
}

TEST(Fallback, a_file_that_is_gone_or_cut_short_is_damage_for_all) {
  const TempFolder folder("short");
  const std::string dir = (folder.path / "ck").string(), shard = dir + "/iter_0000006/shard_00001.safetensors";
  save_run(dir, 6);
  fs::copy(shard, folder.path / "kept");
  Found f = start_in(dir, dir, 6, plan_of_starts(), [&] { fs::resize_file(shard, 8000); });
  EXPECT_EQ(f.iterations, (std::vector<i64>{4, 4})) << f.said;
  EXPECT_NE(f.said.find(shard + " ends at byte 8000"), std::string::npos) << f.said;
  EXPECT_NE(f.said.find("; looking for an older one"), std::string::npos) << f.said;
  fs::remove(shard);
  f = start_in(dir, dir, 6, plan_of_starts());
  EXPECT_EQ(f.iterations, (std::vector<i64>{4, 4})) << f.said;
  EXPECT_NE(f.said.find("cannot open " + shard + ": No such file or directory"), std::string::npos) << f.said;
  fs::copy(folder.path / "kept", shard);
  EXPECT_EQ(start_in(dir, dir, 6, plan_of_starts()).iterations, (std::vector<i64>{6, 6}));
}

// Either rank may find the damage, because each host has its own copy of the directory.
TEST(Fallback, a_file_that_is_gone_is_named_where_another_rank_lacks_it) {
  const TempFolder folder("named");
  const std::string a = (folder.path / "a").string(), b = (folder.path / "b").string();
  save_run(a, 6);
  fs::copy(a, b, fs::copy_options::recursive);
  const std::string shard = b + "/iter_0000006/shard_00001.safetensors";
  fs::remove(shard);
  const Found f = start_in(a, b, 6, plan_of_starts());
  EXPECT_EQ(f.iterations, (std::vector<i64>{4, 4})) << f.said;
  EXPECT_NE(f.said.find("rank 1 finds iteration 4 (cannot open " + shard +
                        ": No such file or directory: check the "
                        "path): all ranks load 4"),
            std::string::npos)
      << f.said;
}

// One rank cannot use the checkpoint of the other, because that directory is a single checkpoint.
TEST(Fallback, ranks_whose_checkpoints_stay_apart_are_told) {
  const TempFolder folder("one");
  const std::string dir = (folder.path / "ck").string();
  save_run(dir, 4);
  try {
    start_in(dir + "/iter_0000004", dir + "/iter_0000002", 4, plan_of_starts());
    ADD_FAILURE() << "ranks begin at different iterations";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("rank 0 finds iteration 4, rank 1 finds iteration 2: give all hosts the same"),
              std::string::npos)
        << e.what();
  }
  testing::internal::GetCapturedStderr();
  testing::internal::GetCapturedStdout();
}

// The checkpoint has a setting of another program version. It loads normally, and a line names the setting.
TEST(Resume, passes_over_settings_that_it_does_not_know) {
  const TempFolder folder("unknown");
  const std::string dir = (folder.path / "ck").string(), place = dir + "/iter_0000004";
  save_run(dir, 4);
  std::string manifest = read_file(place + "/manifest.json"), sums = read_file(place + "/checksums.txt");
  const std::string config = "\"config\": {", old_sum = fmt::format("{:016x}", xxh64(manifest));
  ASSERT_NE(manifest.find(config), std::string::npos);
  manifest.insert(manifest.find(config) + config.size(), "\"old_flag\": [1, 2], \"other_flag\": null, ");
  sums.replace(sums.find(old_sum), old_sum.size(), fmt::format("{:016x}", xxh64(manifest)));
  write_file(place + "/manifest.json", manifest), write_file(place + "/checksums.txt", sums);
  const Found f = start_in(dir, dir, 4, plan_of_starts());
  EXPECT_EQ(f.iterations, (std::vector<i64>{4, 4}));
  EXPECT_NE(f.said.find("unknown settings are ignored: old_flag, other_flag\n"), std::string::npos) << f.said;
  const Options o = options_for(1, "--train-iters 4 --finetune --load " + dir);
  testing::internal::CaptureStderr();
  harness::run_ranks(1, [&](Ranks& ranks) { EXPECT_EQ(agreed_start(o, ranks).progress().state.iteration, 0); });
  EXPECT_NE(testing::internal::GetCapturedStderr().find("old_flag, other_flag\n"), std::string::npos);
}

// Megatron's formats have checksums of whole tensors here. Ranks that read the same files divide the verification.
// Damage on one rank ends all.
TEST(Fallback, ranks_verify_a_checkpoint_of_megatron_together) {
  const TempFolder folder("together");
  const std::string a = (folder.path / "a").string(), b = (folder.path / "b").string();
  testing::internal::CaptureStdout();
  harness::run_ranks(1, [&](Ranks& ranks) {
    pretrain(
        options_for(1, "--train-iters 2 --global-batch-size 4 --save-interval 2 --ckpt-format torch_dist --save " + a),
        *make_cpu_backend(&ranks), ranks);
  });
  testing::internal::GetCapturedStdout();
  fs::copy(a, b, fs::copy_options::recursive);
  const auto boxes = [&](const std::string& dir) {  // file and position of the parts of each tensor
    const TorchDist dist(dir + "/iter_0000002");
    std::vector<std::pair<std::string, i64>> places;
    for (std::size_t i = 0; i < dist.tensors().tensors().size(); ++i)
      for (const StoredBox& box : dist.tensors().boxes(i))
        places.emplace_back(dist.tensors().file(box.file).path(), box.position);
    return places;
  };
  // The messages of the two ranks after one number was damaged.
  const auto errors_with = [&](const std::pair<std::string, i64>& damaged, const std::string& second) {
    flip(damaged.first, std::size_t(damaged.second) * 8);
    std::vector<std::string> errors(2);
    harness::run_ranks(2, [&](Ranks& ranks) {
      try {
        agreed_start(options_for(2, "--train-iters 2 --load " + (ranks.rank() ? second : a)), ranks);
      } catch (const ReportedByOtherRank& e) {
        errors[std::size_t(ranks.rank())] = std::string("told: ") + e.what();
      } catch (const Error& e) {
        errors[std::size_t(ranks.rank())] = e.what();
      }
    });
    flip(damaged.first, std::size_t(damaged.second) * 8);
    for (std::string& e : errors) {
      EXPECT_NE(e.find(" is damaged: the checksum of record data/0 is "), std::string::npos) << e;
      e.resize(e.find("[load]"));
    }
    return errors;
  };
  using Errors = std::vector<std::string>;
  const Errors first_finds = {"", "told: "}, second_finds = {"told: ", "rank 1: "};
  EXPECT_EQ(errors_with(boxes(a).front(), a), first_finds);
  EXPECT_EQ(errors_with(boxes(a).back(), a), second_finds);
  // If the ranks have different files, each rank verifies all of its own.
  EXPECT_EQ(errors_with(boxes(a).back(), b), first_finds);
  EXPECT_EQ(errors_with(boxes(b).front(), b), second_finds);
  const Found whole = start_in(a, b, 2, plan_of_starts());
  EXPECT_EQ(whole.iterations, (std::vector<i64>{2, 2}));
}

// Tests of messages about changed settings of a resumed run.
TEST(Resume, says_when_the_order_of_samples_is_another) {
  const TempFolder folder("order");
  const std::string dir = (folder.path / "ck").string();
  save_run(dir, 8);
  const auto said = [&](const std::string& flags, int iteration = 4) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    harness::run_ranks(1, [&](Ranks& ranks) {
      agreed_start(options_for(1, fmt::format("--train-iters 8 --global-batch-size 4 --load {} --ckpt-step {} {}", dir,
                                              iteration, flags)),
                   ranks);
    });
    testing::internal::GetCapturedStdout();
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said(""), "");  // on one rank instead of two
  EXPECT_EQ(said("--finetune --split 5,3,2"), "");
  EXPECT_EQ(said("--split 5,3,2", 8), "");  // no steps are left
  const std::string split = said("--split 5,3,2");
  EXPECT_NE(split.find("the order of training samples differs from the saved run's (split None -> 5,3,2); the run "
                       "continues at sample 16, so samples may be repeated or skipped"),
            std::string::npos)
      << split;
  EXPECT_NE(said("--seed 7").find("seed 1234 -> 7"), std::string::npos);
  EXPECT_NE(said("--dataloader-type cyclic").find("micro-batch 4 -> 2"), std::string::npos);
}

}  // namespace
}  // namespace megalith
