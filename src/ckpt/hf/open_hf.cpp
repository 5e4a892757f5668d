// A directory of Hugging Face as one of several formats.
#include <fmt/format.h>

#include "base/read_error.h"
#include "ckpt/formats.h"
#include "ckpt/hf/hf_weights.h"
#include "ckpt/native/model_json.h"

namespace megalith {
namespace {

AnyCheckpoint open_hf(const CheckpointPlace& place, const AnyOpenOptions& options) {
  const std::string& dir = place.asked;
  const std::string path = dir + "/config.json";
  const TensorFiles files = TensorFiles::open_directory(dir);
  AnyCheckpoint c{.format = CkptFormat::hf, .path = dir, .hf_config = read_text(path)};
  if (!is_our_hf_architecture(c.hf_config, "[hf] " + path)) {
    c.manifest.state_json = state_of_hf(c.hf_config, true);
    c.tensors = read_hf_files(
        files, [](const TensorInfo&) { return true; }, options.past_cache);
    return c;
  }
  const HfConfig config = read_hf_config(dir);
  c.model = config.model;
  c.model->resolve();
  c.manifest.config_json = model_to_json(*c.model);
  c.manifest.state_json = state_of_hf(c.hf_config, false);
  c.tensors = read_hf_weights(files, config, options.past_cache);
  return c;
}

void look_into_hf(const CheckpointPlace& place, const AnyOpenOptions&, RawCheckpoint& raw) {
  const TensorFiles files = TensorFiles::open_directory(place.asked);
  raw.tensors = read_hf_files(files, &TensorInfo::is_readable);
  for (const TensorInfo& t : files.tensors())
    if (!t.is_readable()) raw.unread.push_back(fmt::format("{} ({})", t.name, t.stored_type));
  raw.parts.assign(raw.tensors->tensors().size(), 1);
}

}  // namespace

const FormatWays kHfWays = {open_hf, look_into_hf};

}  // namespace megalith
