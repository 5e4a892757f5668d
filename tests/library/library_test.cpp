// A model of another program's, trained on three meshes, saved, and resumed, by what libraries step and state offer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
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
namespace {

constexpr i64 kBatch = 4;

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

struct Result {
  std::vector<double> losses, largest;
  std::map<std::string, std::vector<std::byte>> kept;  // by the model, of what is not trained: as it is saved
};

std::map<std::string, std::vector<std::byte>> kept_in(const std::string& dir, i64 iteration) {
  std::map<std::string, std::vector<std::byte>> out;
  const auto files = read_native_files(open_checkpoint(dir, {.iteration = iteration}));
  for (const auto& [name, dtype] : std::map<std::string, DType>{
           {"mean", DType::f32}, {"words", DType::bf16}, {"ids", DType::i32}, {"hidden", DType::f64}}) {
    const size_t at = files->at(name);
    const TensorSpec& t = files->tensors()[at];
    EXPECT_EQ(t.dtype, dtype) << name;
    out[name].resize(size_t(count(t.shape) * size_of(t.dtype)));
    files->read_range(at, 0, count(t.shape), out[name].data());
  }
  return out;
}

template <class T>
std::vector<double> numbers(const Result& r, const char* name) {
  const std::vector<std::byte>& bytes = r.kept.at(name);
  const T* x = reinterpret_cast<const T*>(bytes.data());
  return {x, x + bytes.size() / sizeof(T)};
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double bound, const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], bound) << what << " " << i;
}

// Trains from iteration `from` (of the checkpoint in `dir`, or new) to `to`, and saves.
Result train(const Setting& setting, i64 from, i64 to, const std::string& dir) {
  Result out;
  std::mutex mutex;
  std::vector<SaveTensor> blocks;  // of all ranks
  const auto on_rank = [&](Ranks& ranks) {
    StepSpec spec;
    spec.mesh = setting.mesh, spec.model = std::make_shared<ToyModel>();
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
    if (ranks.rank() == 0) save_checkpoint(dir, {.iteration = to}, blocks), out.kept = kept_in(dir, to);
    ranks.all_gather("saved");
  };
  harness::run_ranks(setting.mesh.num_ranks(), on_rank);
  return out;
}

// Two micro-batches a step: on one rank, and on two stages.
const Setting kCut[] = {{"one, in two micro-batches", make_mesh({}), false, 2},
                        {"pp2", make_mesh({.pp = 2}), false, 2}};

const Setting kSettings[] = {{"one", make_mesh({})},
                             {"tp2", make_mesh({1, 1, 2, 1})},
                             {"dp2 with the distributed optimizer", make_mesh({2, 1, 1, 1}), true}};

class Library : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(dir_); }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  const std::string dir_ = testing::TempDir() + "megalith-library-" + std::to_string(getpid());
};

// Whole numbers and the start exactly, sums as near as orders of adding are.
void expect_kept_alike(const std::vector<Result>& results) {
  for (const Result& r : results) {
    EXPECT_EQ(r.kept.at("ids"), results[0].kept.at("ids"));
    expect_near(numbers<double>(r, "hidden"), numbers<double>(results[0], "hidden"), 1e-3, "hidden");
    expect_near(numbers<bf16>(r, "words"), numbers<bf16>(results[0], "words"), 1e-3, "words");
  }
  for (const double id : numbers<i32>(results[0], "ids")) EXPECT_GE(id, 7);
}

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
  expect_kept_alike(results);
  const std::vector<double> mean = numbers<float>(one, "mean");
  ASSERT_EQ(mean.size(), size_t(ToyModel::kHidden));
  EXPECT_GT(*std::ranges::max_element(mean), 1e-3);
  for (const Result& r : results) expect_near(numbers<float>(r, "mean"), mean, 1e-6, "mean");
}

// In a pipeline the running mean may be read before it has moved; sums are the same.
TEST_F(Library, what_is_not_trained_is_kept_on_every_stage_of_a_pipeline) {
  std::vector<Result> results;
  for (const Setting& s : kCut) results.push_back(train(s, 0, 6, dir_ + "/" + s.name));
  for (size_t k = 0; k < results[0].losses.size(); ++k) EXPECT_NEAR(results[1].losses[k], results[0].losses[k], 1e-5);
  expect_kept_alike(results);
}

TEST_F(Library, a_resumed_run_has_the_same_bits_and_any_mesh_resumes) {
  std::vector<Setting> settings(std::begin(kSettings), std::end(kSettings));
  settings.push_back(kCut[1]);
  for (const Setting& s : settings) {
    const std::string whole = dir_ + "/whole " + s.name, parts = dir_ + "/parts " + s.name;
    const Result at_once = train(s, 0, 6, whole);
    train(s, 0, 3, parts);
    const Result rest = train(s, 3, 6, parts);
    EXPECT_EQ(rest.losses, std::vector<double>(at_once.losses.begin() + 3, at_once.losses.end())) << s.name;
    EXPECT_EQ(rest.kept, at_once.kept) << s.name;
    if (s.micro_batches > 1) continue;
    for (const Setting& other : kSettings) {
      train(s, 0, 3, dir_ + "/from");
      const Result there = train(other, 3, 6, dir_ + "/from");
      for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(there.losses[k], rest.losses[k], 1e-5) << s.name << " " << other.name;
    }
  }
}

}  // namespace
}  // namespace megalith
