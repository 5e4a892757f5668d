#include "ckpt/native/save_steps.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/check.h"
#include "base/log.h"
#include "base/one_line.h"
#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/native/retention.h"
#include "ckpt/native/shards.h"

namespace megalith {

namespace fs = std::filesystem;

std::string SaveSteps::place() const { return dir_ + "/" + iteration_name(iteration_); }

std::string SaveSteps::begin() {
  options_.still_ours();
  temporary_ = fmt::format("{}{}{}", place(), kTemporary, ::getpid());
  try {
    clear_unfinished(dir_, options_.hook);
  } catch (const std::exception& e) {
    log::warn("[save] an earlier run's unfinished save could not be removed: {}", one_line(e));
  }
  // commit() syncs its name.
  make_directory_in(dir_, fs::path(temporary_).filename().string(), options_.still_ours, options_.hook);
  return temporary_;
}

void SaveSteps::commit(PartWriter& writer, const std::vector<std::string>& accounts) {
  writer.describe(temporary_, accounts);
  // Syncs the name before it is exchanged with a checkpoint's. Doing it earlier would wait for the disk: by now the
  // sync of the directory's files has written the name too.
  sync_directory(dir_, options_.hook);
  options_.still_ours();
  publish();
  temporary_.clear();
  sync_directory(dir_, options_.hook);
  options_.still_ours();
  try {
    // The checkpoint has the temporary file. If SAVE was moved just now, another directory gets no file.
    replace_text(dir_ + "/" + kLatestFile, std::to_string(iteration_), options_.hook, place());
  } catch (const Error& e) {
    fail("{} is whole, but {} still names the one before: {}", place(), kLatestFile, e.what());
  }
}

// Moves the finished directory to its final name. One of the same name is swapped atomically. If the file system
// cannot do that, the old one is renamed to a name that loading knows.
void SaveSteps::publish() {
  const StepHook& hook = options_.hook;
  if (!fs::exists(place())) return rename_path(temporary_, place(), hook);
  if (options_.exchange && exchange_paths(temporary_, place(), hook)) {
    replaced_ = temporary_;
    return;
  }
  const std::string aside = fmt::format("{}{}{}", place(), kReplaced, ::getpid());
  remove_tree(aside, hook);
  rename_path(place(), aside, hook);
  rename_path(temporary_, place(), hook);
}

// If another job saves here now, a file with this name may be its own.
void SaveSteps::abandon() noexcept {
  if (temporary_.empty()) return;
  try {
    options_.still_ours();
    fs::remove_all(temporary_);
  } catch (const std::exception&) {
  }
}

void SaveSteps::tidy() {
  const auto attempt = [&](auto&& f) {
    try {
      options_.still_ours();
      f();
    } catch (const std::exception& e) {
      log::warn("[save] iteration {} is saved, but an old checkpoint could not be removed: {}", iteration_,
                one_line(e));
    }
  };
  if (!replaced_.empty()) attempt([&] { remove_tree(replaced_, options_.hook); });
  attempt([&] { clear_replaced(dir_, options_.hook); });
  attempt([&] { remove_old_checkpoints(dir_, iteration_, options_); });
}

void save_alone(const std::string& dir, i64 iteration, PartWriter& writer, const SaveOptions& options) {
  SaveSteps steps(dir, iteration, options);
  try {
    make_directories(dir, options.hook);
    steps.commit(writer, {writer.write(steps.begin())});
  } catch (const std::exception& e) {
    steps.abandon();
    fail("[save] {}/{} was not written: {}; what was there before is intact", dir, iteration_name(iteration),
         one_line(e));
  }
  steps.tidy();
}

void save_checkpoint(const std::string& dir, const Manifest& manifest, std::span<const SaveTensor> tensors,
                     const SaveOptions& options) {
  ShardWriter writer(manifest, {tensors.begin(), tensors.end()}, 0, options);
  save_alone(dir, manifest.iteration, writer, options);
}

}  // namespace megalith
