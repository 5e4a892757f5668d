// Writes values as an offline run of W&B, under Megatron's names: DIR/wandb/offline-run-TIME-ID/run-ID.wandb. Only
// `wandb sync` sends data; WANDB_MODE=online starts it at the end. WandbFile (wandb_file.h) encodes and writes the
// file's bytes.
#pragma once
#include <functional>
#include <memory>

#include "observe/sinks/curves.h"
#include "observe/sinks/tensorboard_file.h"
#include "observe/sinks/wandb_file.h"

namespace megalith {

// Settings from the flags and from W&B's own variables.
struct WandbAsked {
  std::string project{}, entity{}, name{}, group{}, id{}, mode{};
  std::filesystem::path dir{};  // the parent of "wandb"
  std::vector<std::string> tags{};
  bool is_on() const { return !project.empty() && mode != "disabled"; }
};

// `env`: std::getenv, or a test's function. Error if the variables request an unsupported feature, or if there is no
// directory.
WandbAsked wandb_asked(const Options& options, const Environment& env);

class Wandb final : public Sink {
 public:
  // The run begins after `iteration`. One row each `--tensorboard-log-interval` iterations.
  Wandb(const Options& options, const WandbAsked& asked, i64 iteration, std::function<double()> now = unix_seconds);
  ~Wandb() override { end(1); }  // for a run that failed; then without finish()
  void take(const Record& record) override;
  void take_evaluation(const Evaluated& evaluated) override;
  void take_times(std::span<const NamedValue> seconds, i64 iteration) override;
  void leave(Away where) override;
  void come_back() override;
  void finish() override;
  const std::filesystem::path& path() const { return file_->path(); }

 private:
  void put(const std::string& name, double value);
  void write_row();
  void write_summary();
  void end(int code);  // once

  WandbAsked asked_;
  std::function<double()> now_;
  CurveFlags flags_;
  i64 every_;
  double started_;
  std::unique_ptr<WandbFile> file_;
  // The last row is kept until the step's evaluation has added its values, because W&B accepts one row per step.
  i64 step_ = -1;
  WandbItems row_, summary_;
  std::optional<Away> away_;
  double left_ = 0;
  bool has_ended_ = false;
};

}  // namespace megalith
