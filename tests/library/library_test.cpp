// A model of another program's, trained on three meshes, saved, and resumed, by what libraries step and state offer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <mutex>

#include "base/rng.h"
#include "ckpt/native/native_tensors.h"
#include "exec/cpu/backend.h"
#include "state/read_state.h"
#include "state/state_blocks.h"
#include "step/trainer.h"
#include "tests/harness/thread_ranks.h"
#include "toy_model.h"

namespace megalith {
namespace {

constexpr i64 kBatch = 4;

// Sample n: each token is the one before, times 5, plus 1.
class ToyData final : public BatchSource {
 public:
  ToyData(i64 first, i64 rank, i64 ranks) : consumed_(first), rank_(rank), ranks_(ranks) {}
  Batch next() override {
    Batch out{.sequences = kBatch / ranks_, .seq_length = ToyModel::kSeq};
    for (i64 i = 0; i < out.sequences; ++i)
      for (i64 t = 0, n = consumed_ + rank_ * out.sequences + i, id = n % ToyModel::kVocab; t < ToyModel::kSeq; ++t) {
        out.ints("tokens").push_back(i32(id));
        id = (5 * id + 1) % ToyModel::kVocab;
        out.ints("labels").push_back(i32(id));
        out.floats("loss_mask").push_back(t % 5 == 4 ? 0.0f : 1.0f);
      }
    consumed_ += kBatch;
    return out;
  }
  i64 consumed_samples() const override { return consumed_; }
  double seconds_waited() const override { return 0; }

 private:
  i64 consumed_, rank_, ranks_;
};

struct Setting {
  const char* name;
  Mesh mesh;
  bool shard_optimizer = false;
};

struct Result {
  std::vector<double> losses, largest;
  std::vector<float> mean, balance;  // that the model keeps
};

// Trains from iteration `from` (of the checkpoint in `dir`, or new) to `to`, and saves.
Result train(const Setting& setting, i64 from, i64 to, const std::string& dir) {
  Result out;
  std::mutex mutex;
  std::vector<SaveTensor> blocks;  // of all ranks
  const auto on_rank = [&](Ranks& ranks) {
    StepSpec spec;
    spec.mesh = setting.mesh, spec.model = std::make_shared<ToyModel>();
    spec.optimizer.lr = 0.05, spec.mode.batch = kBatch, spec.shard_optimizer = setting.shard_optimizer;
    const auto backend = make_cpu_backend(&ranks);
    const PlannedStep step = plan_step(spec, *backend);
    const Coord coord = setting.mesh.coord(ranks.rank());
    const auto interpreter = backend->make_interpreter(step.plan, coord);
    ModelState model(step, *interpreter, coord);
    if (from == 0)
      model.initialise(1);
    else
      read_state(*read_native_files(open_checkpoint(dir, {.iteration = from})), true, model), model.finish();
    RunState state{.iteration = from, .consumed_samples = from * kBatch};
    state.schedule_samples = state.consumed_samples, state.optimizer_steps = from;
    const LrSchedule constant{.style = LrDecay::constant, .max_lr = 0.05};
    Trainer trainer(step, *interpreter, coord, spec.optimizer, {.lr = constant, .weight_decay = {}});
    ToyData data(state.consumed_samples, setting.mesh.place(coord, groups::data), setting.mesh.n(groups::data));
    while (state.iteration < to) {
      trainer.start_step(data, 1, state);
      const StepResult r = trainer.finish_step(state);
      if (ranks.rank() == 0) out.losses.push_back(r.loss), out.largest.push_back(r.terms.at(0).value);
    }
    for (const StateTensor& t : model.tensors())
      if (t.name == "mean" && ranks.rank() == 0)
        out.mean.resize(ToyModel::kHidden), model.read(model.pieces(t).at(0), 0, out.mean);
      else if (t.name == "balance" && ranks.rank() == 0)
        out.balance.resize(ToyModel::kHidden), model.read(model.pieces(t).at(0), 0, out.balance);
    const StateBlocks mine(model, {}, false);
    mine.wait();
    {
      const std::lock_guard lock(mutex);
      blocks.insert(blocks.end(), mine.tensors().begin(), mine.tensors().end());
    }
    ranks.all_gather("all blocks are there");
    if (ranks.rank() == 0) save_checkpoint(dir, {.iteration = to}, blocks);
    ranks.all_gather("saved");
  };
  harness::run_ranks(setting.mesh.num_ranks(), on_rank);
  return out;
}

const Setting kSettings[] = {{"one", make_mesh({})},
                             {"tp2", make_mesh({1, 1, 2, 1})},
                             {"dp2 with the distributed optimizer", make_mesh({2, 1, 1, 1}), true}};

class Library : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(dir_); }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  const std::string dir_ = testing::TempDir() + "megalith-library-" + std::to_string(getpid());
};

TEST_F(Library, a_model_from_outside_trains_alike_on_every_mesh) {
  std::vector<Result> results;
  for (const Setting& s : kSettings) results.push_back(train(s, 0, 6, dir_ + "/" + s.name));
  const Result& one = results[0];
  EXPECT_NEAR(one.losses[0], std::log(double(ToyModel::kVocab)), 0.3);  // it knows nothing
  EXPECT_LT(one.losses[5], one.losses[0] - 0.1);
  for (size_t i = 1; i < results.size(); ++i)
    for (size_t k = 0; k < one.losses.size(); ++k) {
      EXPECT_NEAR(results[i].losses[k], one.losses[k], 1e-5) << kSettings[i].name << ", step " << k;
      EXPECT_NEAR(results[i].largest[k], one.largest[k], 1e-5) << kSettings[i].name << ", step " << k;
    }
  ASSERT_EQ(one.mean.size(), size_t(ToyModel::kHidden));
  EXPECT_GT(*std::ranges::max_element(one.mean), 1e-3f);
  for (const Result& r : results)
    for (size_t k = 0; k < one.mean.size(); ++k) EXPECT_NEAR(r.mean[k], one.mean[k], 1e-6);
  // Six steps up or down.
  ASSERT_EQ(one.balance.size(), size_t(ToyModel::kHidden));
  for (float x : one.balance) EXPECT_NEAR(std::remainder(x, 0.02f), 0, 1e-6);
  EXPECT_GT(*std::ranges::max_element(one.balance), 0.015f);
  for (const Result& r : results) EXPECT_EQ(r.balance, one.balance);
}

TEST_F(Library, a_resumed_run_has_the_same_bits_and_any_mesh_resumes) {
  for (const Setting& s : kSettings) {
    const std::string whole = dir_ + "/whole " + s.name, parts = dir_ + "/parts " + s.name;
    const Result at_once = train(s, 0, 6, whole);
    train(s, 0, 3, parts);
    const Result rest = train(s, 3, 6, parts);
    EXPECT_EQ(rest.losses, std::vector<double>(at_once.losses.begin() + 3, at_once.losses.end())) << s.name;
    EXPECT_EQ(rest.mean, at_once.mean) << s.name;
    EXPECT_EQ(rest.balance, at_once.balance) << s.name;
    for (const Setting& other : kSettings) {
      train(s, 0, 3, dir_ + "/from");
      const Result there = train(other, 3, 6, dir_ + "/from");
      for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(there.losses[k], rest.losses[k], 1e-5) << s.name << " " << other.name;
    }
  }
}

}  // namespace
}  // namespace megalith
