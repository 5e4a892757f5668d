#include "ckpt/native/save_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "base/escape.h"
#include "base/parse_count.h"
#include "base/read_error.h"

namespace megalith {
namespace {

constexpr const char* kRelease = "release";  // Megatron's name for weights that are to begin with

// The text without surrounding blanks, as Megatron reads it; "" if it cannot be read.
std::string tracker_text(const std::string& dir) {
  constexpr const char* kBlanks = " \t\n\v\f\r";
  try {
    const std::string text = read_text(dir + "/" + kLatestFile);
    const std::size_t first = text.find_first_not_of(kBlanks);
    return first == text.npos ? "" : text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
  } catch (const DamagedFile&) {
    return "";
  }
}

std::string names_nothing(const std::string& dir, const std::string& tracker) {
  constexpr std::size_t kShown = 40;
  return fmt::format(
      "{}/{} {}names a checkpoint that does not exist", dir, kLatestFile,
      tracker.empty() ? "" : fmt::format("holds \"{}\", which ", escape_controls(tracker.substr(0, kShown))));
}

SaveDirectory only(const std::string& dir, std::vector<FoundCheckpoint> found, i64 iteration) {
  std::set<i64> there;
  for (const FoundCheckpoint& c : found) there.insert(c.iteration);
  std::erase_if(found, [&](const FoundCheckpoint& c) { return c.iteration != iteration; });
  if (found.size() > 1) found.erase(found.begin(), found.end() - 1);  // those that it has replaced
  return {.candidates = std::move(found),
          .lack = fmt::format("{} holds iterations [{}], not {}", dir, fmt::join(there, ", "), iteration)};
}

}  // namespace

const FoundCheckpoint& SaveDirectory::first() const {
  check(!candidates.empty(), "[load] {}", lack);
  return candidates.front();
}

bool is_release(const std::string& path) {
  return std::filesystem::path(path + "/").parent_path().filename() == kRelease;
}

bool is_checkpoint_name(const std::string& name) { return name == kRelease || parse_iteration_name(name); }

SaveDirectory read_save_directory(const std::string& dir, const WhichIteration& which) {
  std::vector<FoundCheckpoint> found = list_checkpoints(dir);
  if (which.exactly) return only(dir, std::move(found), *which.exactly);
  std::ranges::reverse(found);
  const std::string tracker = tracker_text(dir);
  std::optional<i64> latest = parse_count(tracker);
  if (tracker == kRelease && std::filesystem::is_directory(dir + "/" + kRelease))
    found.insert(found.begin(), {0, dir + "/" + kRelease}), latest = 0;
  SaveDirectory save{.lack = dir + " holds no checkpoint (no iter_* directory)"};
  const auto is_latest = [&](const FoundCheckpoint& c) { return c.iteration == latest; };
  if (std::ranges::none_of(found, is_latest))
    save.tracker_problem = names_nothing(dir, tracker);
  else if (tracker != kRelease)
    std::ranges::stable_partition(found, [&](const FoundCheckpoint& c) { return c.iteration <= latest; });
  if (which.no_later_than) {
    std::erase_if(found, [&](const FoundCheckpoint& c) { return c.iteration > *which.no_later_than; });
    save.lack = dir + " holds no older checkpoint";
  }
  save.candidates = std::move(found);
  return save;
}

}  // namespace megalith
