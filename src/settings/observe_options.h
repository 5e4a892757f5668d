// Destinations of a run's metrics besides the console and files: the Prometheus endpoint, and W&B's offline files.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct ObserveConfig {
  std::string run_name;      // job_name of all series; empty: SLURM_JOB_NAME, or the save directory's name
  i64 prometheus_port = -1;  // 0: a free one; -1: no endpoint
  std::string prometheus_address = "0.0.0.0";
  std::string prometheus_labels;  // "k=v,k=v"
  bool prometheus_all_ranks = false;

  std::string wandb_project;  // empty: no W&B files
  std::string wandb_exp_name;
  std::string wandb_entity;
  std::string wandb_save_dir;  // empty: SAVE/wandb

  bool operator==(const ObserveConfig&) const = default;
};

// The pairs of "k=v,k=v" in order. Error for an invalid pair, an invalid name, or a duplicate name.
std::vector<std::pair<std::string, std::string>> labels_of(const std::string& text);

}  // namespace megalith
