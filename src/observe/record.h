// What a run tells: a record after each iteration, made once (recorder.h), and sinks that take it (sinks/).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "observe/metric.h"
#include "observe/rank_losses.h"
#include "observe/straggler.h"
#include "resume/ended_save.h"

namespace megalith {

// The value of a metric, or of one of its terms.
struct MetricValue {
  const Metric* metric;
  std::string name;     // of the term, or of the metric
  double now = 0;       // of this iteration
  double interval = 0;  // of the iterations since the last line
};

struct Record {
  i64 iteration = 0;
  i64 train_iters = 0;
  i64 consumed_samples = 0;
  i64 tokens = 0;                     // of this iteration, over all devices
  double loss = 0;                    // the first of the losses
  bool counted = true;                // false: nothing was updated
  bool finite = true;                 // all losses are
  bool ends_interval = false;         // a line is due
  bool is_first = false;              // of this process; its line is said even if none is due
  std::vector<MetricValue> values{};  // in the table's order
  std::vector<Tallied> tallies{};     // of this iteration, as the model counts them
  std::vector<double> amax{};         // of this iteration's casts to fp8, with delayed scaling
  std::vector<NamedValue> times{};    // seconds of the run in each state (goodput/states.h); they sum to its wall time
};

// The losses on a set that the model is not trained on.
struct Evaluated {
  std::string where;  // "iteration 100", "iteration 100 on test set"
  i64 iteration = 0;
  i64 consumed_samples = 0;
  std::vector<NamedValue> losses{};
  bool record = true;  // false: for people only, not for files
  std::string set{};   // of several: "-wiki" or "-0"
};

// Of this rank, in bytes: as planned by category, and the most that was used.
struct MemoryTold {
  i64 stage = 0;
  std::vector<NamedValue> bytes{};
};

enum class Away { evaluating, saving };  // what the training stands still for

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void take(const Record& record) = 0;  // after each iteration
  virtual void take_evaluation(const Evaluated& /*evaluated*/) {}
  virtual void take_save(const EndedSave& /*save*/) {}
  virtual void take_own_work(std::span<const OwnWork> /*ranks*/) {}           // with --log-straggler, with each line
  virtual void take_rank_losses(std::span<const LossDeviation> /*ranks*/) {}  // with each line
  virtual void take_times(std::span<const NamedValue> /*seconds*/, i64 /*iteration*/) {}  // with --timing-log-level
  virtual void take_memory(const MemoryTold& /*memory*/) {}                               // with each line
  virtual void leave(Away /*where*/) {}  // the training stands still from here on
  virtual void come_back() {}            // and goes on
  virtual void finish() {}               // at the end of the run
};

// The name under which a sink shows the value: {} of the pattern is the value's own name.
std::string shown_name(std::string_view pattern, const MetricValue& value);

// The record's values that have a name in a sink, in its order. `first`: metrics that come first.
std::vector<const MetricValue*> in_order(const Record& record, std::span<const std::string_view> first);

}  // namespace megalith
