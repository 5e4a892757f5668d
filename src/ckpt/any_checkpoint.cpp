#include "ckpt/any_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/check.h"
#include "ckpt/checkpoint_layout.h"
#include "ckpt/hf_config.h"
#include "ckpt/open_formats.h"
#include "ckpt/torch/torch_legacy.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNames[] = {"native", "torch_dist", "torch", "hf"};

// Megatron's folder of one iteration in a --save directory; "" if there is none.
std::string iteration_directory(const std::string& dir, std::optional<i64> iteration) {
  if (iteration)
    return fs::is_directory(dir + "/" + iteration_name(*iteration)) ? dir + "/" + iteration_name(*iteration) : "";
  const std::string tracker = dir + "/" + kLatestFile;
  if (!fs::exists(tracker)) return "";
  std::string text = read_text(tracker).substr(0, 100);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  if (text == "release") return dir + "/release";
  i64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return "";
  return dir + "/" + iteration_name(value);
}

std::optional<CkptFormat> format_of_one(const std::string& dir) {
  if (fs::exists(dir + "/" + kManifestFile)) return CkptFormat::native;
  if (fs::exists(dir + "/.metadata")) return CkptFormat::torch_dist;
  if (is_torch_legacy(dir)) return CkptFormat::torch;
  return std::nullopt;
}

// The directory to open as such a format: `dir` itself or an iteration in it.
std::string place_of(const std::string& dir, CkptFormat format, std::optional<i64> iteration) {
  if (format_of_one(dir) == format) return dir;
  const std::string inner = iteration_directory(dir, iteration);
  if (iteration && inner.empty()) {
    std::vector<i64> there;
    for (const FoundCheckpoint& c : list_checkpoints(dir)) there.push_back(c.iteration);
    fail("[load] {} holds no iteration {}, only [{}]", dir, *iteration, fmt::join(there, ", "));
  }
  check(!inner.empty() && fs::is_directory(inner), "[load] {} holds no checkpoint that its {} names", dir, kLatestFile);
  return inner;
}

}  // namespace

std::string_view name_of(CkptFormat format) { return kNames[int(format)]; }

CkptFormat parse_ckpt_format(std::string_view name, std::string_view flag) {
  const auto it = std::ranges::find(kNames, name);
  check(it != std::end(kNames), "{} '{}': want {}", flag, name, fmt::join(kNames, ", "));
  return CkptFormat(it - std::begin(kNames));
}

bool AnyCheckpoint::has_optimizer() const {
  return std::ranges::any_of(tensors->tensors(), [](const TensorSpec& t) { return t.name.starts_with("optimizer."); });
}

std::optional<CkptFormat> find_ckpt_format(const std::string& dir, std::optional<i64> iteration) {
  if (is_hf_directory(dir)) return CkptFormat::hf;
  if (const auto format = format_of_one(dir)) return format;
  const std::string inner = iteration_directory(dir, iteration);
  if (!inner.empty())
    if (const auto format = format_of_one(inner)) return format;
  // A native directory may have lost its tracker file, or the checkpoint that it names.
  if (has_checkpoint(dir)) return CkptFormat::native;
  return std::nullopt;
}

AnyCheckpoint open_any_checkpoint(const std::string& dir, const AnyOpenOptions& options) {
  check(!fs::exists(dir) || fs::is_directory(dir), "[load] {} is a file: want a directory", dir);
  const auto found = options.format ? options.format : find_ckpt_format(dir, options.iteration);
  check(found.has_value(), "[load] {}: neither a checkpoint nor a Hugging Face model (config.json) is there", dir);
  switch (*found) {
    case CkptFormat::native:
      return open_native(dir, options);
    case CkptFormat::hf:
      return open_hf(dir);
    case CkptFormat::torch_dist:
      return open_torch_dist(place_of(dir, *found, options.iteration), options);
    case CkptFormat::torch:
      return open_torch_legacy(place_of(dir, *found, options.iteration), options);
  }
  fail("[load] {} has no format", dir);
}

}  // namespace megalith
