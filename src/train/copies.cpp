#include "train/copies.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/log.h"
#include "ckpt/checkpoint.h"
#include "ckpt/checkpoint_layout.h"
#include "config/file.h"

namespace megalith {

namespace {

namespace fs = std::filesystem;

// Of a local copy, as text: only the same layout can read it.
std::string layout_of(const Options& options) {
  Options o = options;
  return config::to_json(config::fields_of(o.parallel));
}

// Why this run may not load a copy; empty if it may.
std::string foreign(const Checkpoint& c, const Options& options, bool own) {
  Options stored;
  config::FieldList fields = config::fields_of(stored);
  config::from_json(fields, c.manifest().config_json, c.path());
  if (place_of(stored.train.save) != place_of(options.train.save))
    return fmt::format("of another run, which has --save {}", stored.train.save);
  return own && layout_of(stored) != layout_of(options) ? "of another layout" : "";
}

// Iterations of the copies that this rank can read, latest first, one a line.
std::string readable(const Options& options, const std::string& dir, bool own) {
  std::vector<FoundCheckpoint> found = list_checkpoints(dir);
  std::ranges::reverse(found);
  std::string text;
  for (const FoundCheckpoint& f : found) {
    try {
      const Checkpoint c = Checkpoint::open_directory(f.path, false, !own);
      if (const std::string why = foreign(c, options, own); !why.empty()) {
        log::warn("[load] {} is {}: it is passed over", c.path(), why);
        continue;
      }
      text += std::to_string(f.iteration) + "\n";
    } catch (const Error& e) {
      log::warn("[load] {}: it is passed over", e.what());
    }
  }
  return text;
}

std::vector<i64> numbers_in(std::string_view text) {
  std::vector<i64> out;
  for (const char* at = text.data(); at < text.data() + text.size(); ++at)
    at = std::from_chars(at, text.data() + text.size(), out.emplace_back()).ptr;
  return out;
}

}  // namespace

std::string place_of(const std::string& path) {
  std::error_code error;
  const fs::path place = fs::weakly_canonical(fs::absolute(path, error), error);
  return (error ? fs::path(path) : place).lexically_normal().string();
}

std::string copy_directory(const TrainConfig& t, int rank) {
  if (t.non_persistent_ckpt_type == CopyType::local)
    return fmt::format("{}/rank_{:05}", t.non_persistent_local_ckpt_dir, rank);
  return t.non_persistent_global_ckpt_dir.empty() ? t.save + "/non_persistent" : t.non_persistent_global_ckpt_dir;
}

std::optional<FoundCopy> newer_copy(const Options& options, Ranks& ranks, i64 than) {
  const TrainConfig& t = options.train;
  const bool wanted = !t.load.empty() && t.load == t.save && t.ckpt_step == 0 && !t.finetune;
  if (t.non_persistent_ckpt_type == CopyType::none || !wanted) return std::nullopt;
  const bool own = t.non_persistent_ckpt_type == CopyType::local;
  const std::string dir = copy_directory(t, ranks.rank());
  std::vector<i64> common;
  bool first = true;
  for (const std::string& text : ranks.all_gather(readable(options, dir, own))) {
    const std::vector<i64> there = numbers_in(text);
    if (first) common = there;
    std::erase_if(common, [&](i64 i) { return std::ranges::find(there, i) == there.end(); });
    first = false;
  }
  if (common.empty() || common.front() <= than) return std::nullopt;
  log::say("  non-persistent checkpoint of iteration {} in {} is newer than {}'s", common.front(), dir, t.load);
  return FoundCopy{common.front(), dir, own};
}

}  // namespace megalith
