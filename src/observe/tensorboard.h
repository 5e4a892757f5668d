// A TensorBoard event file, and the names under which Megatron logs into it. One rank writes; a restarted run opens a
// new file in the same folder. Events wait in memory until flush() (once per logging interval) or until there are many.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/append_file.h"
#include "observe/tfevents.h"
#include "step/iteration_record.h"

namespace megalith {

double unix_seconds();  // the wall clock, seconds since 1970

// What goes into the name of the file, events.out.tfevents.SECONDS.HOST.PID.N, and into the events.
struct TensorBoardOrigin {
  std::string hostname;
  i64 pid = 0;
  std::function<double()> now = unix_seconds;
};
TensorBoardOrigin this_process();

class TensorBoardWriter {
 public:
  // Makes the folder and the file in it. Error if it cannot.
  explicit TensorBoardWriter(const std::filesystem::path& folder, const TensorBoardOrigin& origin = this_process())
      : TensorBoardWriter(folder, origin, origin.now()) {}
  ~TensorBoardWriter() { flush(); }

  void scalar(std::string_view tag, double value, i64 step);  // kept as float
  void text(std::string_view name, std::string_view text, i64 step);
  void histogram(std::string_view tag, const tfevents::Histogram& histogram, i64 step);
  void flush();
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  TensorBoardWriter(const std::filesystem::path& folder, const TensorBoardOrigin& origin, double started);
  void add(std::string_view event);

  std::function<double()> now_;
  AppendFile file_;
  std::string waiting_;
};

// --log-loss-scale-to-tensorboard, --log-world-size-to-tensorboard, --log-validation-ppl-to-tensorboard.
struct TensorBoardTags {
  bool loss_scale = true;
  std::optional<i64> world_size{};
  bool validation_perplexity = false;
  std::string validation_set{};  // of several: behind "validation"
};

// The tags of one iteration, most of them a second time as "TAG vs samples" with the samples so far as the step.
void write_iteration(TensorBoardWriter& writer, const IterationRecord& record, const TensorBoardTags& tags);
// "iteration-time" in seconds and, if known, "throughput" in TFLOP/s per device, once per logging interval.
void write_interval(TensorBoardWriter& writer, i64 iteration, const Interval& interval, std::optional<double> tflops);
// "LOSS validation" and, if asked for, "LOSS validation ppl", each also against samples. The iteration and samples are
// the record's.
void write_validation(TensorBoardWriter& writer, const IterationRecord& at, std::span<const NamedValue> losses,
                      const TensorBoardTags& tags);
// Every argument as a text of its name, at the start of a run.
void write_arguments(TensorBoardWriter& writer, std::span<const std::pair<std::string, std::string>> arguments,
                     i64 iteration);

}  // namespace megalith
