// Megatron's older format, torch, as one of several.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "ckpt/formats.h"
#include "ckpt/torch/grad_scaler.h"
#include "ckpt/torch/optimizer_state.h"
#include "ckpt/torch/read_megatron.h"
#include "ckpt/torch/torch_legacy.h"

namespace megalith {
namespace {

AnyCheckpoint open_torch_legacy(const CheckpointPlace& place, const AnyOpenOptions& options) {
  const std::string& dir = place.path;
  AnyCheckpoint c{.format = CkptFormat::torch, .path = dir, .mark = ReadMark(dir)};
  const TorchLegacy files(dir, options.past_cache);
  c.sums = files.sums();
  const auto find_state = [&](const ModelConfig&, MegatronLayers) {
    check(files.state_problem().empty(), "{}", files.state_problem());
    check_main_values(files.tensors(), files.tensors());
    return files.share();
  };
  read_megatron(files.share(), files.common(), find_state, files.optimizer_steps(), options.vocab_size, c);
  take_grad_scaler(files.common().find("optimizer"), files.common_file(), c.manifest);
  if (!c.state_problem.empty())
    c.state_problem = fmt::format(
        "its optimizer state can't be placed for certain, as {}: save it with Megatron's --ckpt-format torch_dist "
        "--dist-ckpt-optim-fully-reshardable",
        c.state_problem);
  return c;
}

void look_into_torch_legacy(const CheckpointPlace& place, const AnyOpenOptions&, RawCheckpoint& raw) {
  raw.mark = ReadMark(place.path);
  const TorchLegacy files(place.path);
  files.sums()->verify();
  read_parts(files.tensors(), raw);
  raw.tensors = files.share();
  raw.checksums = "crc32 of every file's records";
}

}  // namespace

const FormatWays kTorchWays = {open_torch_legacy, look_into_torch_legacy};

}  // namespace megalith
