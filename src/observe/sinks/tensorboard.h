// Writes values as TensorBoard curves, under Megatron's names.
#pragma once
#include "observe/sinks/curves.h"
#include "observe/sinks/tensorboard_file.h"

namespace megalith {

class TensorBoard final : public Sink {
 public:
  // Every `every` iterations it writes the curves by iteration. At the end of each interval it writes the curves by
  // interval.
  TensorBoard(const std::filesystem::path& folder, i64 every, const TensorBoardOrigin& origin = this_process(),
              const CurveFlags& flags = {})
      : writer_(folder, origin), every_(every), flags_(flags), now_(origin.now) {}
  // Each setting as a separate text, as in Megatron.
  void write_arguments(Options options, i64 iteration);
  void take(const Record& record) override;
  // "LOSS validation", by iterations and by samples; on request also "LOSS validation ppl".
  void take_evaluation(const Evaluated& evaluated) override;
  void take_times(std::span<const NamedValue> seconds, i64 iteration) override;
  void leave(Away where) override;
  void come_back() override;
  void finish() override { writer_.flush(); }
  const std::filesystem::path& path() const { return writer_.path(); }

 private:
  void show(const Record& record, bool of_interval);
  void by_both(const std::string& tag, double value, i64 iteration, i64 samples);

  TensorBoardWriter writer_;
  i64 every_;
  CurveFlags flags_;
  std::function<double()> now_;
  std::optional<Away> away_;
  double left_ = 0;
  i64 iteration_ = 0;  // the last one
};

}  // namespace megalith
