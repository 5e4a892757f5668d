#include "train/validation.h"

#include <algorithm>

namespace megalith {

bool Validation::is_due(i64 iteration) const {
  return t_.eval_interval > 0 && iteration % t_.eval_interval == 0 && iteration >= t_.start_eval_at_iter;
}

i64 Validation::done_before(i64 iteration) const {
  const i64 interval = t_.eval_interval, first = std::max<i64>(1, (t_.start_eval_at_iter + interval - 1) / interval);
  return iteration / interval - first;
}

void Validation::on(const std::shared_ptr<const Dataset>& set, const RunState& state, const std::string& where,
                    bool record, bool whole, const std::string& name) {
  if (!t_.evaluates() || !set) return;
  const i64 done = record && t_.eval_interval > 0 ? done_before(state.iteration) : 0;
  observers_.take_evaluation({.where = where,
                              .iteration = state.iteration,
                              .consumed_samples = state.consumed_samples,
                              .losses = evaluation_.losses(set, done, whole),
                              .record = record,
                              .set = name});
}

void Validation::on_validation_sets(const RunState& state, const std::string& where, bool record) {
  on(sets_.valid, state, where, record, t_.full_validation);
  const std::vector<std::string>& names = o_.data.validation_set_names;
  for (size_t i = 0; i < sets_.valid_sets.size(); ++i)
    on(sets_.valid_sets[i], state, where, record, true,
       names.empty() ? fmt::format("-{}", i) : fmt::format("-{}", names[i]));
}

void Validation::run(const RunState& state) {
  on_validation_sets(state, fmt::format("iteration {}", state.iteration), true);
}

void Validation::run_last(const RunState& state) {
  const std::string at = fmt::format("iteration {}", state.iteration);
  if (t_.skip_train || state.iteration == 0 || !is_due(state.iteration))
    on_validation_sets(state, at + " on validation set", false);
  on(sets_.test, state, at + " on test set", false, false);
}

}  // namespace megalith
