#include "ckpt/any_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/canonical_path.h"
#include "base/check.h"
#include "base/log.h"
#include "base/read_error.h"
#include "ckpt/hf/hf_config.h"
#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/native/save_directory.h"
#include "ckpt/not_loadable.h"
#include "ckpt/open_formats.h"
#include "ckpt/torch/torch_dist.h"
#include "ckpt/torch/torch_legacy.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNames[] = {"native", "torch_dist", "torch", "hf"};

// Whether `dir` is one checkpoint itself, and not that of this iteration.
bool is_another(const std::string& dir, i64 iteration) {
  return format_of_one(dir) && fs::path(canonical_path(dir)).filename() != iteration_name(iteration);
}

// What to open as such a format: `dir` itself or an iteration in it.
std::string checkpoint_in(const std::string& dir, CkptFormat format, const AnyOpenOptions& options) {
  if (format_of_one(dir) == format) return dir;
  const SaveDirectory save = read_save_directory(dir, {.exactly = options.iteration});
  const std::string& path = save.first().path;
  if (options.tells && !save.tracker_problem.empty()) log::warn("[load] {}; loading {}", save.tracker_problem, path);
  return path;
}

AnyCheckpoint open_as(CkptFormat format, const std::string& dir, const AnyOpenOptions& options) {
  switch (format) {
    case CkptFormat::native:
      return open_native(dir, options);
    case CkptFormat::hf:
      return open_hf(dir, options);
    case CkptFormat::torch_dist:
      return open_torch_dist(checkpoint_in(dir, format, options), options);
    case CkptFormat::torch:
      return open_torch_legacy(checkpoint_in(dir, format, options), options);
  }
  fail("[load] {} has no format", dir);
}

}  // namespace

std::string_view name_of(CkptFormat format) { return kNames[int(format)]; }

CkptFormat parse_ckpt_format(std::string_view name, std::string_view flag, bool to_write) {
  const auto it = std::ranges::find(kNames, name);
  std::vector<std::string_view> wanted(std::begin(kNames), std::end(kNames));
  if (to_write) std::erase(wanted, name_of(CkptFormat::torch));
  check(it != std::end(kNames), "{} '{}': want {}", flag, name, fmt::join(wanted, ", "));
  return CkptFormat(it - std::begin(kNames));
}

bool AnyCheckpoint::has_optimizer() const {
  return std::ranges::any_of(tensors->tensors(), [](const TensorSpec& t) { return is_optimizer_tensor(t.name); });
}

void AnyCheckpoint::verify(const Share& share) {
  if (sums) sums->verify(share);
  sums.reset();
}

std::optional<CkptFormat> format_of_one(const std::string& dir) {
  if (file_exists(dir + "/" + kManifestFile)) return CkptFormat::native;
  if (is_torch_dist(dir)) return CkptFormat::torch_dist;
  if (is_torch_legacy(dir)) return CkptFormat::torch;
  return std::nullopt;
}

void check_no_checkpoint_around(const std::string& what, const std::string& dir) {
  const auto refuse = [&](const std::string& which) {
    fail("{}: {} is a checkpoint, and what is saved in one goes with it: choose another", what, which);
  };
  if (format_of_one(dir)) refuse("this");
  // Only what has a checkpoint's name is ever deleted as one, and the tracker file tells where checkpoints are.
  const fs::path place = canonical_path(dir);
  for (fs::path at = place; at.has_relative_path(); at = at.parent_path())
    if (is_checkpoint_name(at.filename().string()) &&
        (file_exists((at.parent_path() / kLatestFile).string()) || format_of_one(at.string())))
      refuse(at == place ? "by its name this" : at.string());
}

// Of `dir` itself, or of what is opened first of the checkpoints in it; none if that tells nothing.
static std::optional<CkptFormat> format_of_first(const std::string& dir, std::optional<i64> iteration) {
  if (const auto format = format_of_one(dir)) return format;
  const SaveDirectory save = read_save_directory(dir, {.exactly = iteration});
  return save.candidates.empty() ? std::nullopt : format_of_one(save.first().path);
}

std::optional<CkptFormat> find_ckpt_format(const std::string& dir, std::optional<i64> iteration) {
  if (const auto format = format_of_first(dir, iteration)) return format;
  // A native directory may have lost its tracker file, or the checkpoint that it names.
  if (has_checkpoint(dir)) return CkptFormat::native;
  // Last: a run that began with a model may save beside it, and then goes on from what it saved.
  if (is_hf_directory(dir)) return CkptFormat::hf;
  return std::nullopt;
}

CkptFormat format_to_open(const std::string& dir, const AnyOpenOptions& options) {
  const std::optional<i64> iteration = options.iteration;
  const auto found = options.format ? options.format : find_ckpt_format(dir, iteration);
  if (!found) fail("[load] {}", why_not_loadable(dir));
  // A model may be beside checkpoints.
  const CkptFormat there =
      options.format && *found != CkptFormat::hf ? format_of_first(dir, iteration).value_or(*found) : *found;
  check(there == *found, "[load] {} is of format {}, not {}: leave out --from {}", dir, name_of(there), name_of(*found),
        name_of(*found));
  check(!iteration || *found != CkptFormat::hf,
        "[load] {} is a Hugging Face model, which has no iterations: leave out --ckpt-step {}", dir,
        iteration.value_or(0));
  check(!iteration || !is_another(dir, *iteration),
        "[load] {} is one checkpoint: --ckpt-step {} wants the directory above it, or is to be left out", dir,
        iteration.value_or(0));
  return *found;
}

AnyCheckpoint open_any_checkpoint(const std::string& dir, const AnyOpenOptions& options) {
  check(!fs::exists(dir) || fs::is_directory(dir), "[load] {} is a file: want a directory", dir);
  AnyCheckpoint c = open_as(format_to_open(dir, options), dir, options);
  if (options.verify) c.verify();
  // What nothing computes with is carried for architectures that we don't have.
  for (const TensorSpec& t : c.tensors->tensors())
    check(c.foreign() || is_float(t.dtype), "[load] {}: tensor \"{}\" has type {}: want a floating-point type", c.path,
          t.name, name_of(t.dtype));
  return c;
}

}  // namespace megalith
