// Exports a run's records as series of its Prometheus endpoint.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <optional>

#include "base/clock.h"
#include "observe/endpoint.h"
#include "observe/fp8_scales.h"
#include "observe/last_values.h"
#include "observe/record.h"
#include "observe/sinks/tensorboard_file.h"

namespace megalith {

class PrometheusSink final : public Sink {
 public:
  // The run begins after `iteration`. The endpoint outlives the sink.
  PrometheusSink(Endpoint& endpoint, const Options& options, i64 iteration,
                 std::function<double()> now = steady_seconds, std::function<double()> wall = unix_seconds);
  void follow(Fp8Scales scales) { scales_ = std::move(scales); }  // takes effect with the next record
  void take(const Record& record) override;
  void take_evaluation(const Evaluated& evaluated) override;
  void take_save(const EndedSave& save) override;
  void take_own_work(std::span<const OwnWork> ranks) override;
  void take_rank_losses(std::span<const LossDeviation> ranks) override;
  void take_times(std::span<const NamedValue> seconds, i64 iteration) override;
  void take_memory(const MemoryTold& memory) override;
  void leave(Away where) override;
  void come_back() override;

 private:
  struct Peak {
    double at, value;
  };
  void set_values(const Record& record, double seconds);
  void set_peak(double norm);
  void count(const Record& record);
  void count_spikes(const Record& record);
  void count_time(std::span<const NamedValue> seconds);
  void set_scales(const Record& record);
  void set_casts(const Record& record);
  void say_healthy();

  Endpoint& to_;
  std::function<double()> now_, wall_;
  i64 seq_length_;
  i64 samples_ = 0;         // exported so far
  double spikes_[2] = {};   // exported counts: of the loss, of the gradient norm
  std::deque<Peak> peaks_;  // of the last 10 minutes, descending
  LastValues times_;
  std::optional<Fp8Scales> scales_;
  std::map<std::string, double> seconds_;  // exported seconds of each state
  std::optional<Away> away_;
  double left_ = 0;
};

}  // namespace megalith
