// Trains a toy model by what libraries step and state offer: ranks are threads.
#pragma once
#include <gtest/gtest.h>

#include <map>
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

inline constexpr i64 kBatch = 4;

// Sample n: each token is the one before, times 5, plus 1.
class ToyData final : public BatchSource {
 public:
  ToyData(i64 first, i64 rank, i64 ranks, i64 cuts)
      : consumed_(first), rank_(rank), ranks_(ranks), batch_(kBatch / cuts) {}
  Batch next() override {
    Batch out{.sequences = batch_ / ranks_, .seq_length = ToyModel::kSeq};
    for (i64 i = 0; i < out.sequences; ++i)
      for (i64 t = 0, n = consumed_ + rank_ * out.sequences + i, id = n % ToyModel::kVocab; t < ToyModel::kSeq; ++t) {
        out.ints("tokens").push_back(i32(id));
        id = (5 * id + 1) % ToyModel::kVocab;
        out.ints("labels").push_back(i32(id));
        out.floats("loss_mask").push_back(t % 5 == 4 ? 0.0f : 1.0f);
      }
    consumed_ += batch_;
    return out;
  }
  i64 consumed_samples() const override { return consumed_; }
  double seconds_waited() const override { return 0; }

 private:
  i64 consumed_, rank_, ranks_, batch_;
};

struct Setting {
  const char* name;
  Mesh mesh;
  bool shard_optimizer = false;
  int micro_batches = 1;
};

using Kept = std::map<std::string, std::vector<std::byte>>;
using KeptTypes = std::map<std::string, DType>;  // of tensors that a model keeps

struct Outcome {
  std::vector<double> losses, largest;
  Kept kept;  // by the model, of what is not trained: as it is saved
};

// What is saved of these tensors, byte by byte.
inline Kept kept_in(const std::string& dir, i64 iteration, const KeptTypes& types) {
  Kept out;
  const auto files = read_native_files(open_checkpoint(dir, {.iteration = iteration}));
  for (const auto& [name, dtype] : types) {
    const size_t at = files->at(name);
    const TensorSpec& t = files->tensors()[at];
    EXPECT_EQ(t.dtype, dtype) << name;
    out[name].resize(size_t(count(t.shape) * size_of(t.dtype)));
    files->read_range(at, 0, count(t.shape), out[name].data());
  }
  return out;
}

// Trains from iteration `from` (of the checkpoint in `dir`, or new) to `to`, and saves.
inline Outcome train(const std::shared_ptr<const Model>& model_type, const KeptTypes& kept, const Setting& setting,
                     i64 from, i64 to, const std::string& dir) {
  Outcome out;
  std::mutex mutex;
  std::vector<SaveTensor> blocks;  // of all ranks
  const auto on_rank = [&](Ranks& ranks) {
    StepSpec spec;
    spec.mesh = setting.mesh, spec.model = model_type;
    spec.optimizer.lr = 0.05, spec.mode.batch = kBatch / setting.micro_batches;
    spec.shard_optimizer = setting.shard_optimizer;
    const Coord coord = setting.mesh.coord(ranks.rank());
    if (const int stages = int(setting.mesh.n(groups::pipeline)); stages > 1)
      spec.pipeline = {.stage = int(setting.mesh.place(coord, groups::pipeline)),
                       .schedule = {.stages = stages, .micro_batches = setting.micro_batches},
                       .blocks = {1, 1}};
    const auto backend = make_cpu_backend(&ranks);
    const PlannedStep step = plan_step(spec, *backend);
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
    ToyData data(state.consumed_samples, setting.mesh.place(coord, groups::data), setting.mesh.n(groups::data),
                 setting.micro_batches);
    while (state.iteration < to) {
      trainer.start_step(data, setting.micro_batches, state);
      const StepResult r = trainer.finish_step(state);
      if (ranks.rank() == 0) out.losses.push_back(r.loss), out.largest.push_back(r.terms.at(0).value);
    }
    const StateBlocks mine(model, {}, false);
    mine.wait();
    {
      const std::lock_guard lock(mutex);
      blocks.insert(blocks.end(), mine.tensors().begin(), mine.tensors().end());
    }
    ranks.all_gather("all blocks are there");
    if (ranks.rank() == 0) save_checkpoint(dir, {.iteration = to}, blocks), out.kept = kept_in(dir, to, kept);
    ranks.all_gather("saved");
  };
  harness::run_ranks(setting.mesh.num_ranks(), on_rank);
  return out;
}

}  // namespace megalith
