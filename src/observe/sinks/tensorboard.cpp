#include "observe/sinks/tensorboard.h"

#include "observe/sinks/console.h"

namespace megalith {

void TensorBoard::by_both(const std::string& tag, double value, i64 iteration, i64 samples) {
  writer_.scalar(tag, value, iteration);
  writer_.scalar(tag + " vs samples", value, samples);
}

void TensorBoard::write_arguments(Options options, i64 iteration) {
  const config::FieldList fields = config::fields_of(options);
  for (const config::Field& field : fields.all()) writer_.text(field.key(), field.text(), iteration);
}

void TensorBoard::take_times(std::span<const NamedValue> seconds, i64 iteration) {
  for (const NamedValue& v : seconds)
    if (flags_.timers && v.value > 0) writer_.scalar(timer_of(v), v.value, iteration);
}

void TensorBoard::leave(Away where) { away_ = where, left_ = now_(); }

void TensorBoard::come_back() {
  if (away_ && flags_.timers) writer_.scalar(timer_of(*away_), now_() - left_, iteration_);
  away_.reset();
}

void TensorBoard::take(const Record& r) {
  iteration_ = r.iteration;
  if (r.iteration % every_ == 0) show(r, false);
  if (!r.ends_interval) return;
  show(r, true);
  writer_.flush();
}

void TensorBoard::show(const Record& r, bool of_interval) {
  for (const MetricValue* v : in_order(r, first_in_tensorboard())) {
    const InTensorBoard& form = v->metric->tensorboard;
    if (form.name.empty() || (form.curve == Curve::of_interval) != of_interval) continue;
    const std::string tag = shown_name(form.name, *v);
    if (form.curve == Curve::by_both)
      by_both(tag, v->now, r.iteration, r.consumed_samples);
    else
      writer_.scalar(tag, of_interval ? v->interval : v->now, r.iteration);
  }
}

void TensorBoard::take_evaluation(const Evaluated& e) {
  if (!e.record) return;
  for (const NamedValue& loss : e.losses) {
    const std::string tag = loss.name + " validation" + e.set;
    by_both(tag, loss.value, e.iteration, e.consumed_samples);
    if (flags_.perplexity) by_both(tag + " ppl", perplexity(loss.value), e.iteration, e.consumed_samples);
  }
}

}  // namespace megalith
