// What a run reports: the recorder (recorder.h) makes a record after each iteration, and sinks (sinks/) show it.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "observe/memory_use.h"
#include "observe/metric.h"
#include "observe/rank_losses.h"
#include "observe/rank_places.h"
#include "observe/straggler.h"
#include "resume/ended_save.h"

namespace megalith {

// The value of a metric, or of one of its terms.
struct MetricValue {
  const Metric* metric;
  std::string name;     // name of the term, or of the metric
  double now = 0;       // of this iteration
  double interval = 0;  // over the iterations since the last line
};

struct Record {
  i64 iteration = 0;
  i64 train_iters = 0;
  i64 consumed_samples = 0;
  i64 tokens = 0;                     // of this iteration, on all devices
  double loss = 0;                    // first of the losses
  bool counted = true;                // false: the step was skipped
  bool finite = true;                 // all losses are finite
  bool ends_interval = false;         // a log line is due
  bool is_first = false;              // the first of this process; it gets a line even if none is due
  std::vector<MetricValue> values{};  // in the table's order
  std::vector<Tallied> tallies{};     // model flops of this iteration
  std::vector<double> amax{};         // of this iteration's casts to fp8, with delayed scaling
  std::vector<CastLoss> casts{};      // counts of values that casts to fp8 or fp4 lost
  std::vector<NamedValue> phases{};   // seconds of an iteration, in an interval's last record, by --timing-log-level
  std::vector<NamedValue> times{};    // seconds in each state (goodput/states.h); they sum to the run's wall time
};

// The losses on a validation or test set.
struct Evaluated {
  std::string where;  // "iteration 100", "iteration 100 on test set"
  i64 iteration = 0;
  i64 consumed_samples = 0;
  std::vector<NamedValue> losses{};
  bool record = true;  // false: for the console only, not for files
  std::string set{};   // suffix if there are several sets: "-wiki" or "-0"
};

// Memory of this rank in bytes: the plan by category, and the peak.
struct MemoryTold {
  i64 stage = 0;
  std::vector<NamedValue> bytes{};
};

enum class Away { evaluating, saving };  // why training is paused

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void take(const Record& record) = 0;                        // after each iteration
  virtual void take_ranks(std::span<const PlaceOfRank> /*ranks*/) {}  // before the first iteration
  virtual void take_evaluation(const Evaluated& /*evaluated*/) {}
  virtual void take_save(const EndedSave& /*save*/) {}
  virtual void take_own_work(std::span<const OwnWork> /*ranks*/) {}           // with --log-straggler, at each log line
  virtual void take_rank_losses(std::span<const LossDeviation> /*ranks*/) {}  // at each log line
  virtual void take_times(std::span<const NamedValue> /*seconds*/, i64 /*iteration*/) {}  // with --timing-log-level
  virtual void take_memory(const MemoryTold& /*memory*/) {}                               // at each log line
  virtual void take_memory_use(std::span<const MemoryUse> /*ranks*/) {}                   // at the end of the run
  virtual void leave(Away /*where*/) {}                                                   // training pauses
  virtual void come_back() {}                                                             // training continues
  virtual void finish() {}                                                                // at the end of the run
};

// The name under which a sink shows the value: {} in the pattern stands for the value's own name.
std::string shown_name(std::string_view pattern, const MetricValue& value);

// The record's values in the sink's order. `first`: metrics that come first.
std::vector<const MetricValue*> in_order(const Record& record, std::span<const std::string_view> first);

}  // namespace megalith
