#include "library/training_session.h"

#include <algorithm>

#include "comm/join.h"
#include "comm/on_all_ranks.h"
#include "device/make_backend.h"
#include "observe/run_head.h"
#include "planner/memory_check.h"
#include "planner/memory_need.h"
#include "resume/run_begin.h"
#include "resume/saver.h"
#include "settings/schedules.h"
#include "step/pipeline.h"
#include "train/agreed.h"
#include "train/plan_alike.h"

namespace megalith {

namespace {

std::unique_ptr<Ranks> joined(const Options& o, const Place& place) {
  return join_unwatched(place, {.timeout_seconds = 60 * o.parallel.distributed_timeout_minutes});
}

// Guards code that all ranks must finish together. If it throws on one rank, the session is broken. Checks that all
// ranks make need no guard.
class Apart {
 public:
  explicit Apart(bool& broken) : broken_(broken) { broken_ = true; }
  void ended() { broken_ = false; }

 private:
  bool& broken_;
};

}  // namespace

TrainingSession::TrainingSession(Options options, const Place& place, std::shared_ptr<const Model> own)
    : o_(std::move(options)), own_(std::move(own)), ranks_(joined(o_, place)), sizes_(o_) {
  if (ranks_->size() > 1) check_agreement(*ranks_, {agreed_flags(o_)});
  if (ranks_->rank() == 0) say_notes(o_);
  int stage = 0;
  on_all_ranks(*ranks_, [&] {
    const Mesh mesh = mesh_of(o_.parallel, o_.model);
    if (ranks_->size() > 1) coord_ = mesh.coord(ranks_->rank());
    stage = mesh.place(coord_, groups::pipeline);
    check(o_.model.padded_vocab_size > 0,
          "the vocabulary size is unknown: give vocab-size, or a tokenizer with tokenizer-type");
    o_.train.device.timeout_seconds = 60 * o_.parallel.distributed_timeout_minutes;
    backend_ = make_backend(o_.train.device, ranks_.get());
    if (!own_) check_sizes(o_, *backend_);
  });
  const auto spec_of = [&] {
    StepSpec spec = step_spec(o_, stage);
    if (own_) spec.model = own_;
    return spec;
  };
  step_ = plan_alike(spec_of, *backend_, *ranks_);
  on_all_ranks(*ranks_, [&] {
    if (!own_) check_memory(o_, memory_need(o_, *step_, *backend_, false), *backend_, ranks_->place());
  });
  if (ranks_->size() > 1) {
    check_agreement(*ranks_, {agreed_kernels(*backend_)});
    check_agreement(*ranks_, {{"the models", print(step_->plan)}}, stage);
  }
  backend_->connect(step_->plan, coord_, links_of(*step_, coord_));
  interpreter_ = backend_->make_interpreter(step_->plan, coord_);
  model_.emplace(*step_, *interpreter_, coord_);
  list_tensors();
  start_from(o_);
}

// In a broken session the other ranks may never reach their end. So this rank reports a failure and does not wait.
TrainingSession::~TrainingSession() {
  if (is_broken_) ranks_->failed("");
}

BatchForm TrainingSession::form() const {
  const Mesh& mesh = step_->plan.mesh;
  return {o_.train.micro_batch_size, o_.model.seq_length, o_.model.vocab_size, mesh.place(coord_, groups::data),
          mesh.n(groups::data)};
}

void TrainingSession::check_whole() const {
  check(!is_broken_ || ranks_->size() == 1, "a call of this session has failed on some ranks: free it on all of them");
}

void TrainingSession::start_from(const Options& options) {
  RunStart chosen = choose_start(options, *ranks_);
  for (const i64 size : sizes_.from(chosen.progress().state.consumed_samples))
    check(size > 0 && size % sizes_.at_once() == 0, "a global batch of {} is not divisible by --micro-batch-size {}",
          size, sizes_.at_once());
  RunStart filled = fill_model(options, *ranks_, std::move(chosen), *model_);
  has_gradients_ = false;
  start_ = std::move(filled);
  state_ = start_->progress().state;
  trainer_.emplace(*step_, *interpreter_, coord_, o_.optimizer, start_->schedules());
}

StepResult TrainingSession::step() {
  check_whole();
  const i64 micro_batches = sizes_.at(state_.consumed_samples) / sizes_.at_once();
  GivenBatches batches(filler_, form(), state_.consumed_samples);
  on_all_ranks(*ranks_, [&] {
    check(filler_.fill != nullptr, "no batches are given: call mgl_session_set_batches before a step");
    batches.fill(micro_batches);
  });
  tokens_ = batches.weight();
  Apart apart(is_broken_);
  trainer_->start_step(batches, micro_batches, state_);
  StepResult result = trainer_->finish_step(state_);
  apart.ended();
  has_gradients_ = true;
  return result;
}

double TrainingSession::evaluate(const BatchFiller& filler, i64 micro_batches) {
  check_whole();
  GivenBatches batches(filler, form(), 0);
  on_all_ranks(*ranks_, [&] {
    check(std::ranges::any_of(step_->plan.programs, [](const Program& p) { return p.name.starts_with("evaluate"); }),
          "eval-iters 0 plans no evaluation: give 1 or more");
    check(micro_batches > 0, "an evaluation of {} micro-batches: give 1 or more", micro_batches);
    batches.fill(micro_batches);
  });
  Apart apart(is_broken_);
  Trainer::Evaluation e = trainer_->evaluate(batches, micro_batches);
  if (step_->pipeline) e.loss_sum = from_last_stage(e.loss_sum), e.tokens = from_last_stage(e.tokens);
  apart.ended();
  return e.mean();
}

// The value of the first rank of the last stage, which other ranks do not have.
double TrainingSession::from_last_stage(double x) {
  const Mesh& mesh = step_->plan.mesh;
  const Coord one = mesh.at(Coord{}, groups::pipeline, mesh.n(groups::pipeline) - 1);
  return sum_over(*ranks_, coord_ == one ? x : 0);
}

void TrainingSession::save(const std::string& dir) {
  check_whole();
  Options o = o_;
  o.train.save = dir, o.train.load = start_->resumes() ? o_.train.load : "";
  o.train.save_interval = 1, o.train.async_save = false;
  SavePlaces places;
  on_all_ranks(*ranks_, [&] { places = take_save_places(o.train, ranks_->rank()); });
  Apart apart(is_broken_);
  Saver saver(o, *model_, *ranks_, places, 0, -1);
  saver.save({state_, {}, {}, start_->progress().hf_config}, start_->schedules());
  saver.finish();
  apart.ended();
  on_all_ranks(*ranks_, [&] {
    check(saver.has_saved(state_.iteration), "the checkpoint of iteration {} was not saved in {}: the log says why",
          state_.iteration, dir);
  });
}

void TrainingSession::load(const std::string& dir) {
  check_whole();
  Options o = o_;
  o.train.load = dir, o.train.finetune = false, o.train.exit_on_missing_checkpoint = true, o.train.ckpt_step = 0;
  on_all_ranks(*ranks_, [&] {
    check(find_loadable(dir, 0).has_value(),
          "{} holds no checkpoint: give a directory that a session or a run saved in", dir);
  });
  start_from(o);
  o_.train.load = dir;
}

}  // namespace megalith
