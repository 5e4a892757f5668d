// Megatron's torch_dist as one of several formats.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "ckpt/formats.h"
#include "ckpt/tensors/joined_tensors.h"
#include "ckpt/torch/bucketed_state.h"
#include "ckpt/torch/fp8_history.h"
#include "ckpt/torch/grad_scaler.h"
#include "ckpt/torch/megatron_args.h"
#include "ckpt/torch/optimizer_state.h"
#include "ckpt/torch/read_megatron.h"
#include "ckpt/torch/torch_dist.h"

namespace megalith {
namespace {

// Files of runs in bf16 have as many objects, all empty.
bool was_in_fp8(const PickleValue* args) {
  const PickleValue* format = args == nullptr ? nullptr : args->find("fp8");
  return format != nullptr && !format->is_none();
}

AnyCheckpoint open_torch_dist(const CheckpointPlace& place, const AnyOpenOptions& options) {
  const std::string& dir = place.path;
  AnyCheckpoint c{.format = CkptFormat::torch_dist, .path = dir, .mark = ReadMark(dir)};
  TorchDist dist(dir, options.past_cache);
  c.sums = dist.sums();
  check(dist.unread().empty(), "[load] {}: tensor {} is of a type that is not read", dir, dist.unread().front());
  check(dist.common() != nullptr, "[load] {} has neither common.pt nor the object common_state: not of Megatron", dir);
  const PickleValue& common = *dist.common();
  check_version(common, dir, 3);
  const bool bucketed = has_bucketed_state(dist.tensors());
  const bool pickled = std::ranges::any_of(
      dist.objects(), [](const std::string& name) { return name.find(".param_state/") != std::string::npos; });
  const PickleValue* args = common.find("args");
  std::shared_ptr<const TensorReader> scales;  // of fp8
  const auto find_state = [&](const ModelConfig& model, MegatronLayers layers) -> std::shared_ptr<const TensorReader> {
    if (was_in_fp8(args)) scales = read_fp8_states(dist, model, layers);
    check(!pickled, "it is one pickled object of each model-parallel rank (dp_zero_gather_scatter)");
    if (!bucketed || args == nullptr) {
      check_main_values(dist.tensors(), dist.tensors());
      return dist.share();
    }
    auto all = std::make_shared<JoinedTensors>(dir);
    all->join(dist.share());
    all->join(read_bucketed_state(dist.tensors(), *args, model, layers));
    return all;
  };
  const auto own = bucketed ? dist.object(kBucketedOptimizer) : nullptr;
  const PickleValue* optimizer = own ? own->root() : common.find("optimizer");
  read_megatron(dist.share(), common, find_state, optimizer_steps(optimizer), options.vocab_size, c);
  if (scales) {
    auto all = std::make_shared<JoinedTensors>(dir);
    all->join(c.tensors);
    all->join(scales);
    c.tensors = all;
  }
  take_grad_scaler(optimizer, own ? own->file : dist.common_file(), c.manifest);
  const bool named = !bucketed && !pickled;
  if (!c.state_problem.empty())
    c.state_problem = fmt::format(
        "its optimizer state can't be {}, as {}: {}", named ? "taken" : "placed for certain", c.state_problem,
        named ? "load another checkpoint" : "save it with Megatron's --dist-ckpt-optim-fully-reshardable");
  return c;
}

void look_into_torch_dist(const CheckpointPlace& place, const AnyOpenOptions&, RawCheckpoint& raw) {
  raw.mark = ReadMark(place.path);
  const TorchDist dist(place.path);
  dist.sums()->verify();
  read_parts(dist.tensors(), raw);
  raw.tensors = dist.share();
  raw.checksums = "crc32 of every tensor";
  if (!dist.objects().empty()) raw.notes.push_back(fmt::format("{} objects beside the tensors", dist.objects().size()));
  raw.unread = dist.unread();
}

}  // namespace

const FormatWays kTorchDistWays = {open_torch_dist, look_into_torch_dist};

}  // namespace megalith
