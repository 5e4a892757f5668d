#include "resume/non_persistent.h"

#include <algorithm>
#include <limits>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "base/canonical_path.h"
#include "base/log.h"
#include "base/one_line.h"
#include "base/read_error.h"
#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/native/retention.h"
#include "config/file.h"

namespace megalith {

namespace {

using nlohmann::json;

// Layout of a local checkpoint, as text: only ranks of the same layout can read it.
std::string layout_of(const Options& options) {
  Options o = options;
  return config::to_json(config::fields_of(o.parallel));
}

// One rank's checkpoint of an iteration: its path, and the start of the run that saved it. Or why it is unreadable.
struct Candidate {
  std::string start = {}, path = {}, problem = {};
};

Options options_of(const Manifest& m, const std::string& where) {
  Options stored;
  config::FieldList fields = config::fields_of(stored);
  config::from_json(fields, m.config_json, where);
  return stored;
}

Candidate look_at(const std::string& path, const Options& options, int rank, bool own) {
  try {
    const Checkpoint c = Checkpoint::open_directory(path, {.verify = false, .whole = !own});
    const NonPersistentMark mark = mark_of(c.manifest(), path, options.train);
    if (own && layout_of(options_of(c.manifest(), path)) != layout_of(options))
      return {.problem = path + " has another layout"};
    if (own && mark.rank != rank) return {.problem = fmt::format("{} belongs to rank {}", path, mark.rank)};
    return {.start = mark.start, .path = path};
  } catch (const UnreachableFile&) {
    throw;  // an older one would be unreachable too
  } catch (const std::bad_alloc&) {
    throw;  // likewise
  } catch (const std::exception& e) {
    return {.problem = one_line(e)};
  }
}

// This rank's checkpoints by iteration. If a directory has two of one iteration, the first readable one counts.
using Candidates = std::map<i64, Candidate>;

std::vector<FoundCheckpoint> list_non_persistent(const std::string& dir) {
  try {
    return list_checkpoints(dir);
  } catch (const DamagedFile& e) {
    log::warn("[load] non-persistent checkpoints are skipped: {}", e.what());
    return {};
  }
}

Candidates non_persistent_in(const std::string& dir, const Options& options, int rank, bool own, i64 after,
                             i64 before) {
  Candidates candidates;
  std::vector<FoundCheckpoint> found = list_non_persistent(dir);
  std::ranges::reverse(found);
  for (const FoundCheckpoint& f : found) {
    if (f.iteration <= after || f.iteration >= before) continue;
    Candidate& candidate = candidates[f.iteration];
    if (candidate.path.empty()) candidate = look_at(f.path, options, rank, own);
  }
  return candidates;
}

std::string to_text(const Candidates& candidates) {
  json list = json::array();
  for (const auto& [iteration, c] : candidates) list.push_back({iteration, c.start, c.path, c.problem});
  return list.dump(-1, ' ', false, json::error_handler_t::replace);
}

Candidates from_text(const std::string& text) {
  Candidates candidates;
  for (const json& c : json::parse(text)) candidates[c[0]] = {c[1], c[2], c[3]};
  return candidates;
}

// Why the ranks cannot resume from their checkpoints of an iteration; empty if they can.
std::string obstacle(const std::vector<Candidates>& by_rank, i64 iteration) {
  std::string first;
  size_t others = 0;
  const std::string* start = nullptr;
  for (size_t r = 0; r < by_rank.size(); ++r) {
    const auto it = by_rank[r].find(iteration);
    std::string why;
    if (it == by_rank[r].end())
      why = "has none";
    else if (!it->second.problem.empty())
      why = it->second.problem;
    else if (start && *start != it->second.start)
      why = "has one from another start of the run";
    else
      start = &it->second.start;
    if (why.empty()) continue;
    if (first.empty())
      first = by_rank.size() == 1 ? why : fmt::format("rank {}: {}", r, why);
    else
      ++others;
  }
  return others == 0 ? first : fmt::format("{} (and {} more)", first, others);
}

}  // namespace

std::string non_persistent_directory(const TrainConfig& t, int rank) {
  if (t.non_persistent_ckpt_type == NonPersistentType::local)
    return fmt::format("{}/rank_{:05}", t.non_persistent_local_ckpt_dir, rank);
  return t.non_persistent_global_ckpt_dir.empty() ? t.save + "/non_persistent" : t.non_persistent_global_ckpt_dir;
}

std::string name_of_start(Ranks& ranks) {
  std::random_device random;
  return ranks.all_gather(fmt::format("{:08x}{:08x}", random(), random()))[0];
}

// Without the flags only the default directory of global ones is known.
static void tell_passed_over(const Options& options, int rank, i64 after) {
  constexpr i64 kEver = std::numeric_limits<i64>::max();
  const Candidates candidates =
      non_persistent_in(non_persistent_directory(options.train, rank), options, rank, false, after, kEver);
  for (auto it = candidates.rbegin(); it != candidates.rend(); ++it) {
    if (!it->second.problem.empty()) continue;
    log::warn(
        "[load] the non-persistent checkpoint {} is newer than {}'s, and skipped: --non-persistent-ckpt-type global "
        "and --non-persistent-save-interval resume from it; the next save deletes it",
        it->second.path, options.train.load);
    return;
  }
}

static bool goes_on(const TrainConfig& t) {
  return !t.load.empty() && canonical_path(t.load) == canonical_path(t.save) && t.ckpt_step == 0 && !t.finetune &&
         !t.moe_use_upcycling;
}

std::string newest_non_persistent_here(const TrainConfig& t) {
  if (!goes_on(t) || t.non_persistent_ckpt_type == NonPersistentType::none) return {};
  std::vector<std::string> places;
  if (t.non_persistent_ckpt_type == NonPersistentType::global) places.push_back(non_persistent_directory(t, 0));
  if (const std::string& local = t.non_persistent_local_ckpt_dir;
      t.non_persistent_ckpt_type == NonPersistentType::local)
    for (const std::string& name : list_directory(local))
      if (name.starts_with("rank_")) places.push_back(local + "/" + name);
  FoundCheckpoint newest{-1, {}};
  for (const std::string& place : places)
    for (const FoundCheckpoint& found : list_non_persistent(place))
      if (found.iteration > newest.iteration && is_our_non_persistent(found.path, t)) newest = found;
  return newest.path;
}

std::optional<FoundNonPersistent> newer_non_persistent(const Options& options, Ranks& ranks, i64 after,
                                                       std::optional<i64> before) {
  const TrainConfig& t = options.train;
  if (!goes_on(t)) return std::nullopt;
  if (t.non_persistent_ckpt_type == NonPersistentType::none) {
    tell_passed_over(options, ranks.rank(), after);
    return std::nullopt;
  }
  const bool own = t.non_persistent_ckpt_type == NonPersistentType::local;
  const Candidates mine = non_persistent_in(non_persistent_directory(t, ranks.rank()), options, ranks.rank(), own,
                                            after, before.value_or(std::numeric_limits<i64>::max()));
  std::vector<Candidates> by_rank;
  std::set<i64, std::greater<>> iterations;
  for (const std::string& text : ranks.all_gather(to_text(mine)))
    for (const auto& [iteration, candidate] : by_rank.emplace_back(from_text(text))) iterations.insert(iteration);
  for (const i64 iteration : iterations) {
    if (const std::string why = obstacle(by_rank, iteration); !why.empty()) {
      log::warn("[load] the non-persistent checkpoint of iteration {} is skipped: {}", iteration, why);
      continue;
    }
    const std::string& path = mine.at(iteration).path;
    log::say("  non-persistent checkpoint of iteration {}, {}, is newer than {}'s", iteration, path, t.load);
    return FoundNonPersistent{iteration, path, own};
  }
  return std::nullopt;
}

void remove_later_non_persistent(const Options& options, int rank, i64 iteration,
                                 const std::function<void()>& still_ours) {
  const TrainConfig& t = options.train;
  const bool own = t.non_persistent_ckpt_type == NonPersistentType::local;
  if (!own && rank > 0) return;
  // Without the flags, those of an earlier run in the default directory.
  try {
    constexpr i64 kEver = std::numeric_limits<i64>::max();
    for (const auto& [_, candidate] :
         non_persistent_in(non_persistent_directory(t, rank), options, rank, own, iteration, kEver))
      if (candidate.problem.empty()) still_ours(), remove_checkpoint(candidate.path);
  } catch (const std::exception& e) {
    log::warn("[save] cannot remove an abandoned non-persistent checkpoint: {}", one_line(e));
  }
}

}  // namespace megalith
