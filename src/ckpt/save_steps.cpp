#include "ckpt/save_steps.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "base/log.h"
#include "base/one_line.h"
#include "base/process_start.h"
#include "ckpt/checkpoint_layout.h"
#include "ckpt/shards.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

// Runs f on all ranks, gives all the texts that it returned, and fails on all if it failed on any.
std::vector<std::string> on_all(const Sharing& s, const std::function<std::string()>& f) {
  if (s.size == 1) return {f()};
  std::string mine;
  try {
    mine = fmt::format("+{}", f());
  } catch (const std::exception& e) {
    mine = fmt::format("-{}", one_line(e));
  }
  std::vector<std::string> all = s.all_gather(mine);
  for (size_t r = 0; r < all.size(); ++r) {
    check(all[r].starts_with('+'), "rank {}: {}", r, std::string_view(all[r]).substr(1));
    all[r].erase(0, 1);
  }
  return all;
}

// Whether the process that made something may still be writing it. One that has its number, but was started after the
// last change, is another: the kernel gives numbers again.
bool is_in_use(std::string_view pid_text, const fs::path& made) {
  constexpr double kClocksApart = 0.1;  // seconds
  pid_t pid = 0;
  std::from_chars(pid_text.data(), pid_text.data() + pid_text.size(), pid);
  const i64 start = pid > 0 && pid != ::getpid() ? process_start(pid) : 0;
  if (start == 0) return false;
  std::error_code gone;
  const std::chrono::duration<double> unchanged = fs::file_time_type::clock::now() - fs::last_write_time(made, gone);
  return !gone && process_age(start) + kClocksApart >= unchanged.count();
}

// Unfinished and replaced directories of processes that are gone, and temporary files of `latest`.
void remove_leftovers(const std::string& dir, const StepHook& hook) {
  std::vector<std::string> leftovers;
  for (const auto& entry : fs::directory_iterator(dir)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("iter_") && !name.starts_with(kLatestFile)) continue;
    for (const std::string_view mark : {kTemporary, kReplaced}) {
      const auto at = name.find(mark);
      if (at != std::string::npos && !is_in_use(std::string_view(name).substr(at + mark.size()), entry.path()))
        leftovers.push_back(entry.path().string());
    }
  }
  for (const std::string& path : leftovers) remove_tree(path, hook);
}

}  // namespace

void remove_checkpoint(const std::string& path, const StepHook& hook) {
  const std::string doomed = fmt::format("{}{}{}", path, kTemporary, ::getpid());
  remove_tree(doomed, hook);
  rename_path(path, doomed, hook);
  remove_tree(doomed, hook);
}

// Old checkpoints, oldest first; those of later iterations belong to a run that was abandoned and stay.
void remove_old_checkpoints(const std::string& dir, i64 iteration, const SaveOptions& options) {
  if (options.keep_last <= 0 && options.keep_multiples <= 0) return;
  const i64 keep_last = std::max<i64>(1, options.keep_last), multiples = options.keep_multiples;
  const StepHook& hook = options.hook;
  std::vector<FoundCheckpoint> found = list_checkpoints(dir);
  std::erase_if(found, [&](const FoundCheckpoint& c) { return c.iteration > iteration; });
  for (i64 i = 0; i + keep_last < i64(found.size()); ++i) {
    if (multiples > 0 && found[std::size_t(i)].iteration % multiples == 0) continue;
    if (is_being_read(found[std::size_t(i)].path)) continue;  // until the next time
    options.still_ours();
    remove_checkpoint(found[std::size_t(i)].path, hook);
  }
}

std::string SaveSteps::place() const { return dir_ + "/" + iteration_name(iteration_); }

std::string SaveSteps::begin() {
  options_.still_ours();
  temporary_ = fmt::format("{}{}{}", place(), kTemporary, ::getpid());
  remove_tree(temporary_, options_.hook);
  make_directory(temporary_, options_.hook);  // commit() syncs its name
  return temporary_;
}

void SaveSteps::commit(PartWriter& writer, const std::vector<std::string>& accounts) {
  writer.describe(temporary_, accounts);
  // Its name lasts before it changes places with that of a checkpoint. Sooner the disk would be waited for: now what
  // was synced in the directory has taken its name along.
  sync_directory(dir_, options_.hook);
  options_.still_ours();
  publish();
  temporary_.clear();
  sync_directory(dir_, options_.hook);
  options_.still_ours();
  replace_text(dir_ + "/" + kLatestFile, std::to_string(iteration_), options_.hook);
}

// Moves the finished directory into its place. One of the same name is swapped out in the same instant, or, where the
// file system can't, stands beside under a name that loading knows.
void SaveSteps::publish() {
  const StepHook& hook = options_.hook;
  if (!fs::exists(place())) return rename_path(temporary_, place(), hook);
  if (options_.exchange && exchange_paths(temporary_, place(), hook)) return;
  const std::string aside = fmt::format("{}{}{}", place(), kReplaced, ::getpid());
  remove_tree(aside, hook);
  rename_path(place(), aside, hook);
  rename_path(temporary_, place(), hook);
}

// Where another job saves now, what has this name may be its own.
void SaveSteps::abandon() noexcept {
  if (temporary_.empty()) return;
  try {
    options_.still_ours();
    fs::remove_all(temporary_);
  } catch (const std::exception&) {
  }
}

void SaveSteps::tidy() {
  try {
    options_.still_ours();
    remove_leftovers(dir_, options_.hook);
    remove_old_checkpoints(dir_, iteration_, options_);
  } catch (const std::exception& e) {
    log::warn("[save] iteration {} is saved, but an old checkpoint could not be removed: {}", iteration_, one_line(e));
  }
}

void in_parallel(int n, const std::function<void(int)>& f) {
  if (n == 1) return f(0);
  std::mutex mutex;
  std::exception_ptr error;
  std::vector<std::jthread> threads;
  for (int i = 0; i < n; ++i)
    threads.emplace_back([&, i] {
      try {
        f(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
    });
  threads.clear();
  if (error) std::rethrow_exception(error);
}

void save_together(const std::string& dir, i64 iteration, PartWriter& writer, const SaveOptions& options) {
  const Sharing& sharing = options.sharing;
  const bool first = sharing.rank == 0;
  SaveSteps steps(dir, iteration, options);
  std::string temporary;
  try {
    temporary = on_all(sharing, [&] {
      if (first) make_directories(dir, options.hook), temporary = steps.begin();
      return temporary;
    })[0];
    const std::vector<std::string> accounts = on_all(sharing, [&] { return writer.write(temporary); });
    on_all(sharing, [&] {
      if (first) steps.commit(writer, accounts);
      return "";
    });
  } catch (const std::exception& e) {
    if (first) steps.abandon();
    fail("[save] iteration {} was not saved: {}; earlier checkpoints are intact", iteration, one_line(e));
  }
  if (first) steps.tidy();
}

void save_checkpoint(const std::string& dir, const Manifest& manifest, std::span<const SaveTensor> tensors,
                     const SaveOptions& options) {
  ShardWriter writer(manifest, {tensors.begin(), tensors.end()}, options.sharing.rank, options);
  save_together(dir, manifest.iteration, writer, options);
}

}  // namespace megalith
