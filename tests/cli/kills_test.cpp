// Kills runs by SIGKILL at random times, a third of them during a save, and restarts them until they finish. Each must
// have the bits of an undisturbed run. $MEGALITH_KILLS: number of kills (20); $MEGALITH_SEED: seed of the random times.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "processes.h"
#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

std::uintmax_t bytes_of(const std::string& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  return error ? 0 : bytes;
}

// Counts incomplete checkpoints of a running or killed save. `of`: only those of these processes; empty: of any
// process.
int unfinished(const std::string& dir, const std::vector<pid_t>& of = {}) {
  int n = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dir, error)) {
    const std::string name = entry.path().filename().string();
    const auto mark = name.find(".tmp-");
    if (!name.starts_with("iter_") || mark == std::string::npos) continue;
    const pid_t pid = std::atoi(name.c_str() + mark + 5);
    n += of.empty() || std::ranges::find(of, pid) != of.end();
  }
  return n;
}

constexpr std::chrono::seconds kForMpirun{20};  // mpirun's time to exit after its ranks

struct Tally {
  int kills = 0, while_saving = 0, before_a_step = 0;
  int mpirun_stays = 0;  // times that mpirun stayed after all ranks had exited
};

class Kills : public Workshop {
 protected:
  std::string line(const std::string& name, int iterations, const std::string& more) {
    return pretrain(
        fmt::format("{} --train-iters {} --save-interval 8 --global-batch-size 8 --most-recent-k 2 --log-interval 1 "
                    "--hidden-dropout 0.1 --save {} --load {} --metrics-file {}",
                    fmt::format(fmt::runtime(more), *this / (name + "-copies")), iterations, *this / name, *this / name,
                    *this / (name + ".jsonl")));
  }

  // Starts the run and kills it in one of three ways: during a save, after some steps, or some time after the start.
  bool start_and_kill(int ranks, const std::string& run, int way, std::mt19937& random, Tally& tally) {
    const std::string dir = *this / "cut", metrics = dir + ".jsonl";
    const auto began = std::chrono::steady_clock::now();
    const auto bytes = bytes_of(metrics), enough = bytes + random() % 2500;
    const double seconds = ranks * 0.04 * double(random() % 1000) / 1000;
    const auto delay = std::chrono::microseconds(random() % 3000);
    const unsigned victim = random();
    std::vector<pid_t> pids;
    bool is_killed = false;
    std::chrono::steady_clock::time_point killed, looked;
    RunLimits limits;
    limits.seconds = 120;  // a killed run needs few seconds
    limits.ranks = ranks;
    limits.kill = [&] {
      // If a rank dies during its start, mpirun of Open MPI 4.1 may wait forever without ranks.
      if (const auto now = std::chrono::steady_clock::now(); is_killed) {
        if (ranks == 1 || now - killed < kForMpirun || now - looked < std::chrono::seconds(1)) return false;
        looked = now;
        tally.mpirun_stays += processes_with(dir).empty();
        return processes_with(dir).empty();
      }
      if (int(pids.size()) < ranks) pids = processes_with(dir);
      const bool is_late = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() > seconds;
      const bool has_gone_far = bytes_of(metrics) >= enough && bytes_of(metrics) > bytes;
      const bool now =
          way == 0 ? !pids.empty() && has_gone_far && unfinished(dir, pids) > 0 : has_gone_far || (way == 2 && is_late);
      if (!now) return false;
      std::this_thread::sleep_for(delay);
      if (pids.empty()) return false;
      is_killed = kill(pids[victim % pids.size()], SIGKILL) == 0;
      killed = std::chrono::steady_clock::now();
      return false;
    };
    const int stays = tally.mpirun_stays;
    const Ran ran = megalith(run, limits);
    if (ran.ok()) return false;
    EXPECT_FALSE(ranks > 1 && ran.signal == SIGKILL && tally.mpirun_stays == stays) << "the other ranks did not end\n"
                                                                                    << ran.err;
    EXPECT_TRUE(is_killed) << "it ended by itself: " << ran.err;
    ++tally.kills;
    tally.while_saving += unfinished(dir, pids) > 0;
    tally.before_a_step += bytes_of(metrics) == bytes;
    return true;
  }

  void kill_and_compare(int ranks, int kills, const std::string& more) {
    const int seed = number_from("MEGALITH_SEED", int(std::random_device{}() % 1000000)), iterations = 30 * kills;
    fmt::print("seed {}\n", seed);
    std::mt19937 random{unsigned(seed)};
    const RunLimits patient{.seconds = 120 + double(iterations) / 10, .ranks = ranks};
    const Ran whole = megalith(line("whole", iterations, more), patient);
    ASSERT_TRUE(whole.ok()) << whole.err;
    const std::string cut = line("cut", iterations, more);
    Tally tally;
    while (tally.kills < kills || 3 * tally.while_saving < kills) {
      const int way =
          3 * tally.while_saving < kills ? tally.kills % 2 ? 0 : 1 + int(random() % 2) : 1 + int(random() % 2);
      ASSERT_TRUE(start_and_kill(ranks, cut, way, random, tally)) << "the run is over after " << tally.kills;
      ASSERT_FALSE(HasFailure());
    }
    const Ran last = megalith(cut, patient);
    ASSERT_TRUE(last.ok()) << last.err;
    fmt::print(
        "{} ranks: {} kills, {} inside saving, {} before the first step, {} iterations; mpirun stayed {} times\n",
        ranks, tally.kills, tally.while_saving, tally.before_a_step, iterations, tally.mpirun_stays);
    EXPECT_EQ(digits(*this / "cut.jsonl"), digits(*this / "whole.jsonl"));
    int files = 0;
    const std::string end = fmt::format("/iter_{:07}/", iterations);
    for (const auto& entry : fs::directory_iterator(*this / "whole" + end)) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(".safetensors")) continue;
      EXPECT_TRUE(slurp(entry.path().string()) == slurp(*this / "cut" + end + name)) << name;
      ++files;
    }
    EXPECT_GE(files, ranks);
    EXPECT_EQ(unfinished(*this / "cut"), 0);
  }
};

TEST_F(Kills, OfOneRank) { kill_and_compare(1, number_from("MEGALITH_KILLS", 20), ""); }

// One rank is killed. The other ranks must exit.
TEST_F(Kills, OfARankOfFour) {
  if (!has_mpirun()) GTEST_SKIP() << "mpirun was not found";
  kill_and_compare(4, std::max(3, number_from("MEGALITH_KILLS", 20) / 5),
                   "--tensor-model-parallel-size 2 --use-distributed-optimizer");
}

// The same test with local non-persistent checkpoints. Most starts resume from them.
TEST_F(Kills, OfARankWithCopies) {
  if (!has_mpirun()) GTEST_SKIP() << "mpirun was not found";
  kill_and_compare(2, std::max(3, number_from("MEGALITH_KILLS", 20) / 5),
                   "--use-distributed-optimizer --non-persistent-save-interval 3 --non-persistent-ckpt-type local "
                   "--non-persistent-local-ckpt-dir {}");
}

}  // namespace
}  // namespace megalith::test
