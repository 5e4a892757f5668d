// Values as TensorBoard's curves, under Megatron's names.
#pragma once
#include "observe/record.h"
#include "observe/sinks/tensorboard_file.h"

namespace megalith {

class TensorBoard final : public Sink {
 public:
  // Writes every `every` iterations what has a curve each iteration, and at the end of each interval what has one
  // there.
  TensorBoard(const std::filesystem::path& folder, i64 every, const TensorBoardOrigin& origin = this_process())
      : writer_(folder, origin), every_(every) {}
  void take(const Record& record) override;
  // "LOSS validation", by iterations and by samples.
  void take_evaluation(const Evaluated& evaluated) override;
  void finish() override { writer_.flush(); }
  const std::filesystem::path& path() const { return writer_.path(); }

 private:
  void show(const Record& record, bool of_interval);
  void by_both(const std::string& tag, double value, i64 iteration, i64 samples);

  TensorBoardWriter writer_;
  i64 every_;
};

}  // namespace megalith
