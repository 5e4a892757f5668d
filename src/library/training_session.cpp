#include "library/training_session.h"

#include "comm/join.h"
#include "device/make_backend.h"
#include "observe/run_head.h"
#include "planner/memory_check.h"
#include "planner/memory_need.h"
#include "resume/run_begin.h"
#include "resume/saver.h"
#include "settings/schedules.h"
#include "step/pipeline.h"

namespace megalith {

TrainingSession::TrainingSession(Options options) : o_(std::move(options)), ranks_(make_alone({})), sizes_(o_) {
  say_notes(o_);
  check(o_.model.padded_vocab_size > 0,
        "the vocabulary's size is not known: give vocab-size, or a tokenizer with tokenizer-type");
  backend_ = make_backend(o_.train.device, ranks_.get());
  check_sizes(o_, *backend_);
  step_ = plan_step(step_spec(o_), *backend_);
  check_memory(o_, memory_need(o_, *step_, *backend_, false), *backend_, ranks_->place());
  backend_->connect(step_->plan, {}, links_of(*step_, {}));
  interpreter_ = backend_->make_interpreter(step_->plan, {});
  model_.emplace(*step_, *interpreter_, Coord{});
  start_from(o_);
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
  trainer_.emplace(*step_, *interpreter_, Coord{}, o_.optimizer, start_->schedules());
}

StepResult TrainingSession::step() {
  check(filler_.fill != nullptr, "no batches are given: call mgl_session_set_batches before a step");
  const i64 micro_batches = sizes_.at(state_.consumed_samples) / sizes_.at_once();
  GivenBatches batches(filler_, form(), state_.consumed_samples);
  batches.fill(micro_batches);
  trainer_->start_step(batches, micro_batches, state_);
  StepResult result = trainer_->finish_step(state_);
  has_gradients_ = true;
  return result;
}

double TrainingSession::evaluate(const BatchFiller& filler, i64 micro_batches) {
  check(step_->plan.find_program("evaluate") != nullptr, "eval-iters 0 plans no evaluation: give 1 or more");
  check(micro_batches > 0, "an evaluation of {} micro-batches: give 1 or more", micro_batches);
  GivenBatches batches(filler, form(), 0);
  batches.fill(micro_batches);
  return trainer_->evaluate(batches, micro_batches).mean();
}

void TrainingSession::save(const std::string& dir) {
  Options o = o_;
  o.train.save = dir, o.train.load = start_->resumes() ? o_.train.load : "";
  o.train.save_interval = 1, o.train.async_save = false;
  const SavePlaces places = take_save_places(o.train, 0);
  Saver saver(o, *model_, *ranks_, places, 0, -1);
  saver.save({state_, {}, {}, start_->progress().hf_config}, start_->schedules());
  saver.finish();
  check(saver.has_saved(state_.iteration), "the checkpoint of iteration {} was not saved in {}: the log says why",
        state_.iteration, dir);
}

void TrainingSession::load(const std::string& dir) {
  Options o = o_;
  o.train.load = dir, o.train.finetune = false, o.train.exit_on_missing_checkpoint = true, o.train.ckpt_step = 0;
  const auto place = find_loadable(dir, 0);
  check(place.has_value(), "{} holds no checkpoint: give a directory that a session or a run saved in", dir);
  start_from(o);
  o_.train.load = dir;
}

}  // namespace megalith
