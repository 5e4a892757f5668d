#include "ckpt/find_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/canonical_path.h"
#include "base/check.h"
#include "base/read_error.h"
#include "ckpt/hf/hf_config.h"
#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/native/save_directory.h"
#include "ckpt/not_loadable.h"
#include "ckpt/torch/torch_dist.h"
#include "ckpt/torch/torch_legacy.h"

namespace megalith {

namespace fs = std::filesystem;

static constexpr std::string_view kNames[] = {"native", "torch_dist", "torch", "hf"};

std::string_view name_of(CkptFormat format) { return kNames[int(format)]; }

CkptFormat parse_ckpt_format(std::string_view name, std::string_view flag, bool to_write) {
  const auto it = std::ranges::find(kNames, name);
  std::vector<std::string_view> wanted(std::begin(kNames), std::end(kNames));
  if (to_write) std::erase(wanted, name_of(CkptFormat::torch));
  check(it != std::end(kNames), "{} '{}': want {}", flag, name, fmt::join(wanted, ", "));
  return CkptFormat(it - std::begin(kNames));
}

std::optional<CkptFormat> format_of_one(const std::string& dir) {
  if (file_exists(dir + "/" + kManifestFile)) return CkptFormat::native;
  if (is_torch_dist(dir)) return CkptFormat::torch_dist;
  if (is_torch_legacy(dir)) return CkptFormat::torch;
  return std::nullopt;
}

// `dir` itself, or the first checkpoint in it to open; none if it has no known format.
static std::optional<CheckpointPlace> find_first(const std::string& dir, std::optional<i64> iteration) {
  if (const auto format = format_of_one(dir)) return CheckpointPlace{*format, dir, dir, {}, true};
  const SaveDirectory save = read_save_directory(dir, {.exactly = iteration});
  if (save.candidates.empty()) return std::nullopt;
  const std::string& path = save.first().path;
  const auto format = format_of_one(path);
  return format ? std::optional(CheckpointPlace{*format, dir, path, save.tracker_problem}) : std::nullopt;
}

static std::optional<CheckpointPlace> find_any(const std::string& dir, std::optional<i64> iteration) {
  if (const auto place = find_first(dir, iteration)) return place;
  // A native directory may have lost its tracker file, or the checkpoint that it names.
  if (has_checkpoint(dir)) return CheckpointPlace{CkptFormat::native, dir, dir};
  // Last: a run that started from a model may save next to it, and then resumes from its own checkpoint.
  if (is_hf_directory(dir)) return CheckpointPlace{CkptFormat::hf, dir, dir};
  return std::nullopt;
}

// Error unless the place can be of the iteration.
static void check_iteration(const CheckpointPlace& place, i64 iteration) {
  check(place.format != CkptFormat::hf,
        "[load] {} is a Hugging Face model, which has no iterations: leave out --ckpt-step {}", place.asked, iteration);
  check(!place.is_one || fs::path(canonical_path(place.asked)).filename() == iteration_name(iteration),
        "[load] {} is one checkpoint: --ckpt-step {} wants the directory above it, or is to be left out", place.asked,
        iteration);
}

std::optional<CheckpointPlace> find_checkpoint(const std::string& dir, std::optional<i64> iteration) {
  const auto place = find_any(dir, iteration);
  if (place && iteration) check_iteration(*place, *iteration);
  return place;
}

// Only the requested format, even if others are present: a model may share the directory with checkpoints.
static CheckpointPlace place_of(const std::string& dir, CkptFormat format, std::optional<i64> iteration) {
  if (format == CkptFormat::hf) return {format, dir, dir};
  const auto first = find_first(dir, iteration);
  if (!first) return {format, dir, format == CkptFormat::native ? dir : read_save_directory(dir).first().path};
  check(first->format == format, "[load] {} is of format {}, not {}: leave out --from {}", dir, name_of(first->format),
        name_of(format), name_of(format));
  return *first;
}

CheckpointPlace checkpoint_to_open(const std::string& dir, std::optional<CkptFormat> format,
                                   std::optional<i64> iteration) {
  check(!fs::exists(dir) || fs::is_directory(dir), "[load] {} is a file: want a directory", dir);
  const auto place = format ? std::optional(place_of(dir, *format, iteration)) : find_checkpoint(dir, iteration);
  if (!place) fail("[load] {}", why_not_loadable(dir));
  if (format && iteration) check_iteration(*place, *iteration);
  return *place;
}

void check_no_checkpoint_around(const std::string& what, const std::string& dir) {
  const auto refuse = [&](const std::string& which) {
    fail("{}: {} is a checkpoint, and deleting it would delete files saved in it: choose another", what, which);
  };
  if (format_of_one(dir)) refuse("this");
  // Only directories with a checkpoint's name are ever deleted; the tracker file shows that a directory holds
  // checkpoints.
  const fs::path place = canonical_path(dir);
  for (fs::path at = place; at.has_relative_path(); at = at.parent_path())
    if (is_checkpoint_name(at.filename().string()) &&
        (file_exists((at.parent_path() / kLatestFile).string()) || format_of_one(at.string())))
      refuse(at == place ? "by its name this" : at.string());
}

}  // namespace megalith
