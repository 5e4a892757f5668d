#include "ckpt/any_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/check.h"
#include "base/log.h"
#include "ckpt/checkpoint_layout.h"
#include "ckpt/hf_config.h"
#include "ckpt/open_formats.h"
#include "ckpt/torch/torch_legacy.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNames[] = {"native", "torch_dist", "torch", "hf"};

// What a --save directory's tracker names; "" if nothing that is there.
std::string tracked_directory(const std::string& dir) {
  const std::string tracker = dir + "/" + kLatestFile;
  std::string text = fs::exists(tracker) ? read_text(tracker).substr(0, 100) : "";
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  if (text == "release") return fs::is_directory(dir + "/release") ? dir + "/release" : "";
  i64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = !text.empty() && error == std::errc() && end == text.data() + text.size() && value >= 0;
  const std::string named = dir + "/" + iteration_name(value);
  return is_number && fs::is_directory(named) ? named : "";
}

// The folder of one iteration: of `iteration`, else what the tracker names, else the newest; "" if there is none.
std::string iteration_directory(const std::string& dir, std::optional<i64> iteration) {
  if (iteration)
    return fs::is_directory(dir + "/" + iteration_name(*iteration)) ? dir + "/" + iteration_name(*iteration) : "";
  if (std::string tracked = tracked_directory(dir); !tracked.empty()) return tracked;
  const std::vector<FoundCheckpoint> found = list_checkpoints(dir);
  return found.empty() ? "" : found.back().path;
}

// Whether `dir` is one checkpoint itself, and not that of this iteration.
bool is_another(const std::string& dir, i64 iteration) {
  const std::string name = fs::weakly_canonical(dir).filename().string();
  return format_of_one(dir) && name != iteration_name(iteration);
}

// The directory to open as such a format: `dir` itself or an iteration in it.
std::string place_of(const std::string& dir, CkptFormat format, const AnyOpenOptions& options) {
  const std::optional<i64> iteration = options.iteration;
  if (format_of_one(dir) == format) return dir;
  const std::string inner = iteration_directory(dir, iteration);
  if (iteration && inner.empty()) {
    std::vector<i64> there;
    for (const FoundCheckpoint& c : list_checkpoints(dir)) there.push_back(c.iteration);
    fail("[load] {} holds no iteration {}, only [{}]", dir, *iteration, fmt::join(there, ", "));
  }
  check(!inner.empty(), "[load] {} holds no checkpoint", dir);
  if (options.tells && !iteration && tracked_directory(dir).empty())
    log::warn("[load] {}/{} names no checkpoint that is there; loading {}", dir, kLatestFile, inner);
  return inner;
}

AnyCheckpoint open_as(CkptFormat format, const std::string& dir, const AnyOpenOptions& options) {
  switch (format) {
    case CkptFormat::native:
      return open_native(dir, options);
    case CkptFormat::hf:
      return open_hf(dir, options);
    case CkptFormat::torch_dist:
      return open_torch_dist(place_of(dir, format, options), options);
    case CkptFormat::torch:
      return open_torch_legacy(place_of(dir, format, options), options);
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
  if (fs::exists(dir + "/" + kManifestFile)) return CkptFormat::native;
  if (fs::exists(dir + "/.metadata")) return CkptFormat::torch_dist;
  if (is_torch_legacy(dir)) return CkptFormat::torch;
  return std::nullopt;
}

std::optional<CkptFormat> find_ckpt_format(const std::string& dir, std::optional<i64> iteration) {
  if (const auto format = format_of_one(dir)) return format;
  const std::string inner = iteration_directory(dir, iteration);
  if (!inner.empty())
    if (const auto format = format_of_one(inner)) return format;
  // A native directory may have lost its tracker file, or the checkpoint that it names.
  if (has_checkpoint(dir)) return CkptFormat::native;
  // Last: a run that began with a model may save beside it, and then goes on from what it saved.
  if (is_hf_directory(dir)) return CkptFormat::hf;
  return std::nullopt;
}

void check_iteration(const std::string& dir, CkptFormat format, std::optional<i64> iteration) {
  if (!iteration) return;
  check(format != CkptFormat::hf,
        "[load] {} is a Hugging Face model, which has no iterations: leave out --ckpt-step {}", dir, *iteration);
  check(!is_another(dir, *iteration),
        "[load] {} is one checkpoint: --ckpt-step {} wants the directory above it, or is to be left out", dir,
        *iteration);
}

AnyCheckpoint open_any_checkpoint(const std::string& dir, const AnyOpenOptions& options) {
  check(!fs::exists(dir) || fs::is_directory(dir), "[load] {} is a file: want a directory", dir);
  const auto found = options.format ? options.format : find_ckpt_format(dir, options.iteration);
  check(found.has_value(), "[load] {}: neither a checkpoint nor a Hugging Face model (config.json) is there", dir);
  check_iteration(dir, *found, options.iteration);
  AnyCheckpoint c = open_as(*found, dir, options);
  if (options.verify) c.verify();
  // What nothing computes with is carried for architectures that we don't have.
  for (const TensorSpec& t : c.tensors->tensors())
    check(c.foreign() || is_float(t.dtype), "[load] {}: tensor \"{}\" has type {}: want a floating-point type", c.path,
          t.name, name_of(t.dtype));
  return c;
}

}  // namespace megalith
