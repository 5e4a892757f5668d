// Tests of local non-persistent checkpoints of several ranks: damaged, missing, of other iterations, from other starts.
// The ranks resume from an iteration that all of them have, or from the checkpoint. Later results equal those of an
// undisturbed run.
#include <gtest/gtest.h>

#include <random>

#include "ckpt/native/shards.h"
#include "exec/cpu/backend.h"
#include "resume/background_save.h"
#include "small_run.h"
#include "tests/harness/thread_ranks.h"
#include "train/pretrain.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

struct Said {
  std::string out, err, error;
  bool has(const std::string& text) const { return (out + err).find(text) != std::string::npos; }
};

Said said_quietly(const std::function<void()>& f) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Said said;
  try {
    f();
  } catch (const std::exception& e) {
    said.error = e.what();
  }
  said.out = testing::internal::GetCapturedStdout();
  said.err = testing::internal::GetCapturedStderr();
  return said;
}

// Two ranks train for six iterations, with a checkpoint at 3 and non-persistent ones at 1, 2, 4 and 5.
class NonPersistent : public ::testing::Test {
 protected:
  NonPersistent() : folder_("copies") {
    train("whole", "");
    train("live", "--exit-interval 4");
    fs::rename(place(0, 4), at("rank_0_of_4")), fs::rename(place(1, 4), at("rank_1_of_4"));
    train("live", "--exit-interval 5");
    fs::rename(at("rank_0_of_4"), place(0, 4)), fs::rename(at("rank_1_of_4"), place(1, 4));
    for (const char* end : {"4", "5"}) fs::remove_all(at("live/iter_000000") + end);
    write_file(at("live/latest_checkpointed_iteration.txt"), "3");
    fs::copy(at("live"), at("kept"), fs::copy_options::recursive);
    fs::copy(at("live_copies"), at("kept_copies"), fs::copy_options::recursive);
  }

  std::string at(const std::string& name) const { return (folder_.path / name).string(); }
  // The path of a rank's non-persistent checkpoint, and of a file in it.
  std::string place(int rank, int iteration, const std::string& file = "") const {
    return at(fmt::format("live_copies/rank_{:05}/iter_{:07}{}", rank, iteration, file.empty() ? "" : "/" + file));
  }
  // In a non-persistent checkpoint one file has all tensors of a rank.
  std::string shard(int rank, int iteration) const { return place(rank, iteration, "shard_00000.safetensors"); }

  Said train(const std::string& name, const std::string& more) {
    return said_quietly([&] {
      harness::run_ranks(2, [&](Ranks& ranks) {
        const Options o =
            options_for(2, fmt::format("{2} --train-iters 6 --save {0} --load {0} --save-interval 3 "
                                       "--non-persistent-save-interval 1 --non-persistent-ckpt-type local "
                                       "--non-persistent-local-ckpt-dir {0}_copies --log-interval 1 {1}",
                                       at(name), more, optimizer_));
        pretrain(o, *make_cpu_backend(&ranks), ranks);
      });
    });
  }

  void restore() {
    for (const char* end : {"", "_copies"}) {
      fs::remove_all(at("live") + end);
      fs::copy(at("kept") + end, at("live") + end, fs::copy_options::recursive);
    }
  }

  // After `disturb` a run must resume from this iteration, log this text, and end like an undisturbed run.
  void expect(int iteration, const std::string& text, const std::function<void()>& disturb) {
    SCOPED_TRACE(text);
    restore();
    disturb();
    const Said said = train("live", "");
    EXPECT_EQ(said.error, "");
    EXPECT_TRUE(said.has(fmt::format("] at iteration {}\n", iteration))) << said.out << said.err;
    EXPECT_TRUE(said.has(text)) << said.out << said.err;
    expect_end_of_whole();
  }

  void expect_end_of_whole() const {
    int files = 0;
    for (const auto& entry : fs::directory_iterator(at("whole/iter_0000006"))) {
      const std::string file = entry.path().filename().string();
      if (!file.ends_with(".safetensors")) continue;
      EXPECT_TRUE(read_file(entry.path()) == read_file(at("live/iter_0000006/" + file))) << file;
      ++files;
    }
    EXPECT_EQ(files, 2);
  }

  TempFolder folder_;
  std::string optimizer_ = "--use-distributed-optimizer";
};

TEST_F(NonPersistent, go_on_from_a_moment_that_all_ranks_have) {
  const std::string five = "[load] the non-persistent checkpoint of iteration 5 is skipped: rank ";
  const std::string four = "[load] the non-persistent checkpoint of iteration 4 is skipped: rank ";
  expect(5, "non-persistent checkpoint of iteration 5, " + place(0, 5), [] {});
  expect(4, five + "1: has none\n", [&] { fs::remove_all(place(1, 5)); });
  expect(4, five + "0: " + place(0, 5) + "/manifest.json", [&] { flip(place(0, 5, "manifest.json"), 4000); });
  expect(4, five + "1: [safetensors] " + place(1, 5), [&] { fs::resize_file(shard(1, 5), 1000); });
  expect(4, five + "1: ", [&] { fs::remove(shard(1, 5)); });
  expect(4, five + "1: ", [&] { fs::remove(place(1, 5, "manifest.json")); });
  expect(3, four + "0: has none\n", [&] { fs::remove_all(place(1, 5)), fs::remove_all(place(0, 4)); });
  expect(3, five + "1: has none\n", [&] { fs::remove_all(at("live_copies/rank_00001")); });
}

TEST_F(NonPersistent, damage_found_while_loading_leads_to_the_one_before) {
  const auto damage = [&](int rank, int iteration) {
    flip(shard(rank, iteration), 8 * (fs::file_size(shard(rank, iteration)) - 9));
  };
  expect(4, "wrong checksum; tensor ", [&] { damage(0, 5); });
  expect(4, "; looking for an older one", [&] { damage(1, 5); });
  expect(3, place(0, 4) + "/shard_00000.safetensors is damaged", [&] { damage(1, 5), damage(0, 4); });
  expect(5, "; loading the non-persistent checkpoint", [&] { flip(at("live/iter_0000003/manifest.json"), 4000); });
}

// State that was read before the damage was found must not stay.
TEST_F(NonPersistent, damage_with_nothing_before_leads_to_a_fresh_start) {
  for (const char* optimizer : {"--use-distributed-optimizer", "", "--bf16"}) {
    SCOPED_TRACE(optimizer);
    for (const char* dir : {"whole", "whole_copies", "live", "live_copies"}) fs::remove_all(at(dir));
    optimizer_ = optimizer;
    train("whole", ""), train("live", "--exit-interval 4");
    fs::remove_all(at("live"));
    ASSERT_TRUE(fs::exists(shard(0, 4)));
    flip(shard(0, 4), 8 * (fs::file_size(shard(0, 4)) - 9));
    const Said said = train("live", "");
    const std::string fresh = "  no checkpoint in " + at("live") + ": starting from random weights\n";
    EXPECT_TRUE(said.has("wrong checksum; tensor ") && said.has(fresh)) << said.out << said.err << said.error;
    expect_end_of_whole();
  }
}

// The flags refuse the newest checkpoint, which is not damaged. The run must not load an older one that the flags
// accept. A run from it would overwrite the newest.
TEST_F(NonPersistent, do_not_stand_in_for_what_the_flags_refuse) {
  restore();
  EXPECT_EQ(train("live", "--lr 0.5 --override-opt-param-scheduler").error, "");
  ASSERT_TRUE(fs::exists(place(0, 5)) && fs::exists(place(1, 5)));
  const std::string file = at("live/iter_0000006/manifest.json"), before = read_file(file);
  const Said said = train("live", "");
  EXPECT_NE(said.error.find("another schedule"), std::string::npos) << said.error;
  EXPECT_EQ((said.out + said.err).find("non-persistent"), std::string::npos) << said.out << said.err;
  EXPECT_EQ(read_file(file), before);
}

TEST_F(NonPersistent, never_mix) {
  const std::string five = "[load] the non-persistent checkpoint of iteration 5 is skipped: rank 1: ";
  const auto replace = [](const std::string& from, const std::string& to) {
    fs::remove_all(to), fs::copy(from, to, fs::copy_options::recursive);
  };
  // Ranks moved to other hosts, and the directory of one rank was copied.
  expect(3, "skipped: rank 0: " + place(0, 5) + " belongs to rank 1 (and 1 more)", [&] {
    fs::rename(at("live_copies/rank_00000"), at("live_copies/moved"));
    fs::rename(at("live_copies/rank_00001"), at("live_copies/rank_00000"));
    fs::rename(at("live_copies/moved"), at("live_copies/rank_00001"));
  });
  expect(4, five + place(1, 5) + " belongs to rank 0\n", [&] { replace(place(0, 5), place(1, 5)); });
  // The iteration and --save are the same, but the other start had another seed.
  restore();
  for (const char* end : {"", "_copies"}) fs::remove_all(at("live") + end);
  train("live", "--seed 7 --exit-interval 5");
  fs::rename(place(1, 5), at("foreign"));
  expect(4, five + "has one from another start of the run\n", [&] { replace(at("foreign"), place(1, 5)); });
}

// Only the latest non-persistent checkpoint is kept. So the directory must contain nothing else.
TEST_F(NonPersistent, need_a_directory_where_nothing_else_is) {
  restore();
  for (const std::string other : {"whole_copies/rank_00001/iter_0000005", "whole/iter_0000003"}) {
    fs::remove_all(place(1, 5)), fs::copy(at(other), place(1, 5), fs::copy_options::recursive);
    const std::string why = other.starts_with("whole/") ? " is a persistent checkpoint"
                                                        : " belongs to another run, with --save " + at("whole");
    const std::string error = train("live", "").error;
    EXPECT_NE(error.find("--non-persistent-local-ckpt-dir " + at("live_copies/rank_00001") + ": " + place(1, 5) + why),
              std::string::npos)
        << error;
  }
}

TEST_F(NonPersistent, of_another_layout_are_passed_over) {
  restore();
  const Said said = train("live", "--tensor-model-parallel-size 2 --global-batch-size 4");
  EXPECT_TRUE(said.has("] at iteration 3\n")) << said.out;
  EXPECT_TRUE(said.has(place(0, 5) + " has another layout (and 1 more)\n")) << said.err;
}

TEST_F(NonPersistent, of_36_flipped_bits_none_is_loaded) {
  restore();
  std::vector<std::string> files;
  for (int rank = 0; rank < 2; ++rank)
    for (const auto& entry : fs::directory_iterator(place(rank, 5))) files.push_back(entry.path().string());
  std::ranges::sort(files);
  ASSERT_EQ(files.size(), 6u);  // for each rank the manifest, checksums and tensors
  std::mt19937 random(20260607);
  for (int i = 0; i < 36; ++i) {
    restore();
    const std::string& path = files[std::size_t(i) % files.size()];
    const std::size_t bit = random() % (fs::file_size(path) * 8);
    flip(path, bit);
    const Said said = train("live", "--exit-interval 1");
    EXPECT_TRUE(said.has("] at iteration 4\n") && said.has(path.substr(path.rfind('/') + 1)))
        << "bit " << bit << " of " << path << "\n"
        << said.out << said.err;
  }
}

// One rank's disk fails at the last moment. No rank has deleted the previous checkpoint by then.
TEST(NonPersistentSaved, old_ones_stay_until_every_rank_has_its_new_one) {
  const TempFolder folder("commit");
  const auto dir = [&](int rank) { return (folder.path / std::to_string(rank)).string(); };
  std::vector<std::string> errors(2);
  harness::run_ranks(2, [&](Ranks& ranks) {
    const float value = float(ranks.rank());
    fs::create_directory(dir(ranks.rank()));
    for (const int iteration : {1, 2, 3}) {
      SaveOptions options{.keep_last = 1};
      options.hook = [&](const FileStep& step) {
        check(iteration != 2 || ranks.rank() == 0 || !step.target.ends_with("iter_0000002"), "the disk is gone");
      };
      BackgroundSave save(ranks, SaveSteps(dir(ranks.rank()), iteration, options), true, [&] {
        return std::make_unique<ShardWriter>(Manifest{.iteration = iteration},
                                             std::vector<SaveTensor>{{"x", {1}, DType::f32, &value}}, 0, options);
      });
      const std::string error = save.wait().error;
      if (iteration == 2) errors[std::size_t(ranks.rank())] = error;
      ranks.barrier();
      if (ranks.rank() == 0) {
        EXPECT_TRUE(fs::exists(dir(1) + fmt::format("/iter_{:07}", iteration == 2 ? 1 : iteration)));
        EXPECT_EQ(fs::exists(dir(0) + "/iter_0000001"), iteration < 3) << "after " << iteration;
        EXPECT_EQ(fs::exists(dir(0) + "/iter_0000002"), iteration == 2) << "after " << iteration;
      }
      ranks.barrier();
    }
  });
  EXPECT_EQ(errors, (std::vector<std::string>{"rank 1: the disk is gone", "rank 1: the disk is gone"}));
}

}  // namespace
}  // namespace megalith
