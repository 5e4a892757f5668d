// Values as an offline run of W&B, under Megatron's names: DIR/wandb/offline-run-TIME-ID/run-ID.wandb. Nothing is sent
// from here but by `wandb sync`, which WANDB_MODE=online starts at the end.
#pragma once
#include <functional>
#include <memory>

#include "observe/sinks/curves.h"
#include "observe/sinks/tensorboard_file.h"
#include "observe/sinks/wandb_file.h"

namespace megalith {

// What the flags and W&B's own variables say.
struct WandbAsked {
  std::string project{}, entity{}, name{}, group{}, id{}, mode{};
  std::filesystem::path dir{};  // the one that "wandb" lies in
  std::vector<std::string> tags{};
  bool is_on() const { return !project.empty() && mode != "disabled"; }
};

// `env`: std::getenv, or a test's. Error if the variables ask for what is not there, or if no directory is named.
WandbAsked wandb_asked(const Options& options, const Environment& env);

class Wandb final : public Sink {
 public:
  // The run begins behind `iteration`. A row each `--tensorboard-log-interval` iterations.
  Wandb(const Options& options, const WandbAsked& asked, i64 iteration, std::function<double()> now = unix_seconds);
  ~Wandb() override { end(1); }  // of a run that failed; without finish()
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
  // The row of the last step waits for what its evaluation adds: of a step W&B takes one row.
  i64 step_ = -1;
  WandbItems row_, summary_;
  std::optional<Away> away_;
  double left_ = 0;
  bool has_ended_ = false;
};

}  // namespace megalith
