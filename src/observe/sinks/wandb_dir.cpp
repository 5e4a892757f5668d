#include "observe/sinks/wandb_dir.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <fstream>
#include <random>

#include "base/append_file.h"
#include "base/log.h"

namespace megalith {

namespace fs = std::filesystem;

// In W&B's form: 8 lowercase letters and digits.
static std::string new_wandb_id() {
  constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::random_device random;
  std::string id;
  while (id.size() < 8) id += kLetters[random() % kLetters.size()];
  return id;
}

WandbPlace make_wandb_place(const fs::path& dir, const std::string& given, double now) {
  const std::string id = given.empty() ? new_wandb_id() : given;
  char time[32] = {};
  const std::time_t seconds = std::time_t(now);
  std::tm local{};
  std::strftime(time, sizeof time, "%Y%m%d_%H%M%S", localtime_r(&seconds, &local));
  WandbPlace place{.id = id};
  // If two runs have the same id and second, each gets its own folder.
  const std::string stem = fmt::format("offline-run-{}-{}", time, id);
  place.dir = dir / "wandb" / stem;
  std::error_code error;
  for (int n = 1; fs::exists(place.dir, error); ++n)
    place.dir = dir / "wandb" / fmt::format("offline-run-{}_{}-{}", time, n, id);
  fs::create_directories(place.dir / "files", error);
  if (error)
    throw UnwritablePlace(fmt::format("--wandb-save-dir: cannot make {} ({}): choose another place", place.dir.string(),
                                      error.message()));
  place.file = place.dir / fmt::format("run-{}.wandb", id);
  return place;
}

// JSON is valid YAML. If the file cannot be written, the run's main file in the same directory reports the error.
void write_wandb_config(const WandbPlace& place, const WandbItems& config) {
  std::ofstream file(place.dir / "files" / "config.yaml");
  file << "wandb_version: 1\n";
  for (const auto& [key, value] : config) file << key << ":\n  value: " << value << "\n";
}

void start_wandb_sync(const fs::path& run) {
  const std::string dir = run.string(), log_path = (run / "sync.log").string();
  std::string program = "wandb", verb = "sync", where = dir;
  char* const words[] = {program.data(), verb.data(), where.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, words[0], &actions, nullptr, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error)
    log::warn("W&B: `wandb sync` could not be started ({}): the run is in {}, send it later", std::strerror(error),
              dir);
  else
    log::say("> W&B: `wandb sync {}` was started (process {}); its output is in {}", dir, pid, log_path);
}

}  // namespace megalith
