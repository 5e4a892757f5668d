// The directory of a W&B offline run, and its upload.
#pragma once
#include <filesystem>
#include <string>

#include "observe/sinks/wandb_file.h"

namespace megalith {

struct WandbPlace {
  std::filesystem::path dir{}, file{};  // DIR/wandb/offline-run-TIME-ID, and run-ID.wandb in it
  std::string id{};
};

// Creates the folders. `id`: of the run; empty: a new id. Error if that fails.
WandbPlace make_wandb_place(const std::filesystem::path& dir, const std::string& id, double now);

// Writes files/config.yaml, for readers.
void write_wandb_config(const WandbPlace& place, const WandbItems& config);

// Starts `wandb sync` as a separate process, if it is in PATH; reports the result.
void start_wandb_sync(const std::filesystem::path& run);

}  // namespace megalith
