// The settings of `megalith launch`: its flags, spelled as those of torchrun, and then the command of the ranks.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.h"
#include "comm/place.h"
#include "config/field.h"

namespace megalith::launch {

struct Settings {
  std::string nnodes{}, nproc_per_node{}, rdzv_endpoint{}, master_addr{}, run_id = "none", log_dir{}, elastic_layouts{};
  i64 node_rank = -1, master_port = 0, max_restarts = 100, min_progress_steps = 1, snapshot_steps = 0,
      snapshot_replicas = 0, min_ranks = 0, spares = 0;
  double restart_window_minutes = 60, node_wait_seconds = 10;
  std::string tee = "0", redirects = "0", hang_seconds{};
  bool standalone = false, standby = false, help = false;

  std::vector<std::string> command{};
  std::vector<std::string> words{};  // all arguments

  // `stream`: 1: stdout, 2: stderr.
  bool tees(int stream) const;
  bool redirects_to_file(int stream) const;
  // A restart without snapshots repeats all steps since a checkpoint. So by default it is not the end of a pause.
  bool learns_hang() const { return hang_seconds.empty() ? snapshot_steps > 0 : hang_seconds == "auto"; }
  double hang_limit() const;  // of --hang-seconds; 0: none, or learned
};

void list_fields(Settings& s, config::FieldList& f);

// Error, with a line for each mistake, if the words are wrong. After --help nothing else is read.
Settings read_settings(const std::vector<std::string>& words);

}  // namespace megalith::launch
