// Tests of a background save by ranks that are threads: errors on one rank, and the messages of ranks during the save.
#include "resume/background_save.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <chrono>
#include <thread>

#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/native/shards.h"
#include "exec/cpu/backend.h"
#include "small_run.h"
#include "tests/harness/thread_ranks.h"
#include "tests/harness/wrapped_backend.h"
#include "tests/harness/wrapped_interpreter.h"
#include "train/pretrain.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr float kValues[] = {1, 2, 3, 4};

// This rank's writer of one value, which may be slow.
class SlowWriter final : public PartWriter {
 public:
  SlowWriter(const Ranks& ranks, i64 iteration, double seconds = 0) : seconds_(seconds) {
    const SaveTensor block{"x", {1}, DType::f32, &kValues[ranks.rank()], {ranks.size()}, {ranks.rank()}};
    shards_ = std::make_unique<ShardWriter>(Manifest{.iteration = iteration}, std::vector<SaveTensor>{block},
                                            ranks.rank(), SaveOptions());
  }
  std::string write(const std::string& at) override {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
    return shards_->write(at);
  }
  void describe(const std::string& at, const std::vector<std::string>& accounts) override {
    shards_->describe(at, accounts);
  }

 private:
  double seconds_;
  std::unique_ptr<ShardWriter> shards_;
};

std::vector<std::string> names_in(const std::string& dir) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

TEST(BackgroundSave, whose_preparation_fails_on_a_rank_fails_on_all_and_leaves_nothing) {
  for (int failing = 0; failing < 3; ++failing) {
    const TempFolder folder("prepare");
    std::vector<std::string> errors(3);
    harness::run_ranks(3, [&](Ranks& ranks) {
      for (const int iteration : {1, 2}) {
        BackgroundSave save(ranks, SaveSteps(folder.path, iteration, {}), false, [&] {
          check(iteration != 1 || ranks.rank() != failing, "no memory for copies");
          return std::make_unique<SlowWriter>(ranks, iteration);
        });
        if (iteration == 1) errors[std::size_t(ranks.rank())] = save.wait().error;
        if (iteration == 2) EXPECT_EQ(save.wait().error, "");
        if (iteration == 1 && ranks.rank() == 0) EXPECT_EQ(names_in(folder.path), std::vector<std::string>());
        ranks.barrier();
      }
    });
    EXPECT_EQ(errors, std::vector<std::string>(3, fmt::format("rank {}: no memory for copies", failing)));
    EXPECT_EQ(names_in(folder.path), (std::vector<std::string>{"iter_0000002", kLatestFile}));
  }
}

// Makes thread stacks larger than the address space, so that no thread can start.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge = before_;
    pthread_attr_setstacksize(&huge, std::size_t{1} << 46);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
  }
  ~NoThreads() { pthread_setattr_default_np(&before_); }

 private:
  pthread_attr_t before_;
};

TEST(BackgroundSave, that_gets_no_thread_fails) {
  const TempFolder folder("thread");
  const auto alone = join(Place{});
  const NoThreads none;
  BackgroundSave save(*alone, SaveSteps(folder.path, 1, {}), false,
                      [&] { return std::make_unique<SlowWriter>(*alone, 1); });
  const std::string error = save.wait().error;
  EXPECT_NE(error.find("Resource temporarily unavailable"), std::string::npos) << error;
  EXPECT_EQ(names_in(folder.path), std::vector<std::string>());
}

// After a checkpoint is published, no error may make the save fail.
TEST(BackgroundSave, that_gets_no_thread_to_tidy_up_has_saved) {
  const TempFolder folder("tidy");
  const auto alone = join(Place{});
  BackgroundSave save(*alone, SaveSteps(folder.path, 1, {}), false,
                      [&] { return std::make_unique<SlowWriter>(*alone, 1); });
  while (!fs::exists(folder.path / kLatestFile)) save.poll();
  const NoThreads none;
  EXPECT_EQ(save.wait().error, "");
}

// Wraps ranks, and records messages and waiting times.
class WatchedRanks final : public Ranks {
 public:
  explicit WatchedRanks(Ranks& real) : real_(real) {}
  const Place& place() const override { return real_.place(); }
  std::vector<std::string> all_gather(const std::string& mine) override {
    longest_text = std::max(longest_text, mine.size());
    return timed([&] { return real_.all_gather(mine); });
  }
  std::vector<std::string> gather(const std::string& mine) override {
    ++gathered;
    return timed([&] { return real_.gather(mine); });
  }
  int exchange(int tag, std::span<const Piece> sends, std::span<const Piece> receives) override {
    return real_.exchange(tag, sends, receives);
  }
  void wait(int ticket) override { real_.wait(ticket); }
  void doing(const std::string* what) override { real_.doing(what); }

  double longest_seconds = 0;
  std::size_t longest_text = 0;
  int gathered = 0;

 private:
  template <class F>
  std::vector<std::string> timed(F&& f) {
    const auto began = Clock::now();
    auto texts = f();
    longest_seconds = std::max(longest_seconds, std::chrono::duration<double>(Clock::now() - began).count());
    return texts;
  }
  Ranks& real_;
};

// A rank may write for any time. The exchanges of the ranks must still end within their time limit.
TEST(BackgroundSave, waits_for_slow_ranks_by_short_exchanges) {
  const TempFolder folder("slow");
  harness::run_ranks(3, [&](Ranks& real) {
    WatchedRanks ranks(real);
    const double seconds = ranks.rank() == 1 ? 1.5 : 0;
    BackgroundSave save(ranks, SaveSteps(folder.path, 1, {}), false,
                        [&] { return std::make_unique<SlowWriter>(ranks, 1, seconds); });
    EXPECT_EQ(save.wait().error, "");
    EXPECT_LT(ranks.longest_seconds, 0.75) << "rank " << ranks.rank();
  });
}

// The removal of files may take long. The check of the directory's owner may take long too.
TEST(BackgroundSave, that_is_abandoned_slowly_holds_nobody_up) {
  const TempFolder folder("abandoned");
  harness::run_ranks(2, [&](Ranks& real) {
    WatchedRanks ranks(real);
    SaveOptions options;
    options.still_ours = [asked = std::make_shared<int>(0)] {
      if (++*asked > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    };
    BackgroundSave save(ranks, SaveSteps(folder.path, 1, options), false, [&] {
      check(ranks.rank() == 0, "no memory for copies");
      return std::make_unique<SlowWriter>(ranks, 1);
    });
    EXPECT_EQ(save.wait().error, "rank 1: no memory for copies");
    (void)ranks.all_gather("the next step");
    EXPECT_LT(ranks.longest_seconds, 0.75) << "rank " << ranks.rank();
  });
  EXPECT_EQ(names_in(folder.path), std::vector<std::string>());
}

TEST(BackgroundSave, tells_accounts_to_the_first_rank_alone_and_none_of_own_copies) {
  const TempFolder folder("accounts");
  harness::run_ranks(3, [&](Ranks& real) {
    for (const bool own : {false, true}) {
      WatchedRanks ranks(real);
      const std::string dir = folder.path / (own ? std::to_string(ranks.rank()) : "all");
      fs::create_directory(dir);
      real.barrier();
      const auto alone = join(Place{});
      BackgroundSave save(ranks, SaveSteps(dir, 1, {}), own,
                          [&] { return std::make_unique<SlowWriter>(own ? *alone : real, 1); });
      EXPECT_EQ(save.wait().error, "");
      EXPECT_LT(ranks.longest_text, dir.size() + 40);
      EXPECT_EQ(ranks.gathered, own ? 0 : 1);
    }
  });
}

// A device on which the copy for the third save fails.
class FailingBackend final : public test::WrappedBackend {
 public:
  explicit FailingBackend(Ranks& ranks) : WrappedBackend(make_cpu_backend(&ranks)), fails_(ranks.rank() == 1) {}
  std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const override {
    class Failing final : public test::WrappedInterpreter {
     public:
      Failing(std::unique_ptr<Interpreter> real, bool fails) : WrappedInterpreter(std::move(real)), fails_(fails) {}
      void begin_copies(std::span<const Copy> copies) override {
        if (++saves_ == 3 && fails_) throw std::bad_alloc();
        real_->begin_copies(copies);
      }

     private:
      bool fails_;
      int saves_ = 0;
    };
    return std::make_unique<Failing>(real_->make_interpreter(plan, coord), fails_);
  }

 private:
  bool fails_;
};

std::string quietly(const std::function<void()>& f) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  std::string error;
  try {
    f();
  } catch (const std::exception& e) {
    error = e.what();
  }
  return error + testing::internal::GetCapturedStderr() + testing::internal::GetCapturedStdout();
}

TEST(BackgroundSave, that_one_rank_cannot_prepare_ends_no_run) {
  const TempFolder folder("run");
  const std::string dir = folder.path;
  const std::string said = quietly([&] {
    harness::run_ranks(2, [&](Ranks& ranks) {
      const Options o = options_for(2, "--train-iters 5 --save-interval 1 --async-save --save " + dir);
      EXPECT_EQ(pretrain(o, FailingBackend(ranks), ranks), 0);
    });
  });
  EXPECT_NE(said.find("checkpoint at iteration 3 was not saved, training continues: rank 1: the host's memory ran out"),
            std::string::npos)
      << said;
  EXPECT_EQ(names_in(dir),
            (std::vector<std::string>{"arguments_0000000.txt", "goodput.jsonl", "iter_0000001", "iter_0000002",
                                      "iter_0000004", "iter_0000005", kLatestFile, "ranks.jsonl"}));
}

// The name of the directory is not valid UTF-8, so JSON cannot hold it. The checkpoint is saved, and found with its
// non-persistent checkpoints.
TEST(BackgroundSave, into_a_path_that_is_no_utf8) {
  const TempFolder folder("utf8");
  const std::string dir = folder.path / "caf\xe9";
  const auto train = [&](const std::string& more) {
    return quietly([&] {
      harness::run_ranks(2, [&](Ranks& ranks) {
        const Options o = options_for(
            2, fmt::format("--train-iters 6 --save {0} --load {0} --save-interval 3 --non-persistent-save-interval 1 "
                           "--non-persistent-ckpt-type local --non-persistent-local-ckpt-dir {0}/copies {1}",
                           dir, more));
        pretrain(o, *make_cpu_backend(&ranks), ranks);
      });
    });
  };
  const std::string first = train("--exit-interval 5");
  EXPECT_EQ(first.find("was not saved"), std::string::npos) << first;
  fs::remove_all(dir + "/iter_0000005");  // as if the run was killed before it ended
  write_file(dir + "/" + kLatestFile, "3");
  const std::string second = train("");
  EXPECT_NE(second.find("] at iteration 5\n"), std::string::npos) << second;
  EXPECT_EQ(second.find("is skipped: "), std::string::npos) << second;
}

}  // namespace
}  // namespace megalith
