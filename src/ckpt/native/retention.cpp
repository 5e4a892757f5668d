#include "ckpt/native/retention.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>

#include "base/one_line.h"
#include "base/process_start.h"
#include "ckpt/native/checkpoint_layout.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

// Whether the process that made a file may still be writing it. A process with its number that started after the last
// change is another one: the kernel reuses numbers.
bool is_in_use(std::string_view pid_text, const fs::path& made) {
  constexpr double kClocksApart = 0.1;  // seconds
  pid_t pid = 0;
  std::from_chars(pid_text.data(), pid_text.data() + pid_text.size(), pid);
  const i64 start = pid > 0 && pid != ::getpid() ? process_start(pid).value_or(0) : 0;
  if (start == 0) return false;
  std::error_code gone;
  const std::chrono::duration<double> unchanged = fs::file_time_type::clock::now() - fs::last_write_time(made, gone);
  return !gone && process_age(start) + kClocksApart >= unchanged.count();
}

// Whether saves create this name with a mark: a checkpoint's, a replaced checkpoint's, or that of `latest`.
bool is_saved_as(const std::string& place) {
  const auto replaced = parse_marked_name(place);
  return place == kLatestFile || parse_iteration_name(replaced ? replaced->place : place);
}

// Tries each of several removals, even if one fails: one failure must not keep the rest.
class Tries {
 public:
  template <class F>
  void run(F&& f) {
    try {
      f();
    } catch (const std::exception& e) {
      if (failures_++ == 0) first_ = one_line(e);
    }
  }
  // Error if any has failed.
  void tell() const {
    check(failures_ == 0, "{}{}", first_, failures_ > 1 ? fmt::format(" (and {} more)", failures_ - 1) : "");
  }

 private:
  std::string first_;
  int failures_ = 0;
};

}  // namespace

// Marked files of saves by processes that have ended.
static std::vector<fs::path> left_in(const std::string& dir, bool is_temporary) {
  std::vector<fs::path> left;
  for (const std::string& name : list_directory(dir)) {
    const auto marked = parse_marked_name(name);
    const fs::path path = fs::path(dir) / name;
    if (marked && marked->is_temporary == is_temporary && is_saved_as(marked->place) && !is_in_use(marked->pid, path))
      left.push_back(path);
  }
  return left;
}

void clear_unfinished(const std::string& dir, const StepHook& hook) {
  Tries tries;
  for (const fs::path& path : left_in(dir, true)) tries.run([&] { remove_tree(path.string(), hook); });
  tries.tell();
}

void clear_replaced(const std::string& dir, const StepHook& hook) {
  Tries tries;
  std::vector<fs::path> replaced = left_in(dir, false);
  std::ranges::sort(replaced, std::greater<>(), [](const fs::path& path) { return fs::last_write_time(path); });
  for (const fs::path& path : replaced) {
    const std::string place = parse_marked_name(path.string())->place;
    tries.run([&] {
      if (fs::exists(place))
        remove_tree(path.string(), hook);
      else
        rename_path(path.string(), place, hook);  // a crash came between the two renames of its replacement
    });
  }
  tries.tell();
}

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
  Tries tries;
  for (i64 i = 0; i + keep_last < i64(found.size()); ++i) {
    if (multiples > 0 && found[std::size_t(i)].iteration % multiples == 0) continue;
    const std::string& path = found[std::size_t(i)].path;
    if (is_being_read(path) || !options.may_remove(path)) continue;  // the one until the next time
    options.still_ours();
    tries.run([&] { remove_checkpoint(path, hook); });
  }
  tries.tell();
}

}  // namespace megalith
