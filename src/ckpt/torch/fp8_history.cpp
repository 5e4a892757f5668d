#include "ckpt/torch/fp8_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/check.h"
#include "quant/delayed.h"

namespace megalith {
namespace {

constexpr i64 kTensors = 3;  // x, w, dy

// A tensor inside a pickle: its storage is bytes of torch.save's format before zip archives. They end with the number
// of elements and the elements.
std::vector<float> floats_in(const PickleValue* v, const Shape& shape, const std::string& what) {
  const bool is_tensor = v != nullptr && v->is("torch._utils._rebuild_tensor_v2") && v->args->items.size() >= 4;
  check(is_tensor, "{} is no tensor", what);
  const auto& args = v->args->items;
  check(args[0]->is("torch.storage._load_from_bytes") && args[0]->args->items.size() == 1 &&
            args[0]->args->items[0]->kind == PickleValue::Kind::bytes,
        "{} has no storage", what);
  const std::string& stored = args[0]->args->items[0]->text;
  const i64 n = count(shape), tail = i64(sizeof(i64)) + n * i64(sizeof(float));
  i64 elements = 0;
  if (i64(stored.size()) > tail) std::memcpy(&elements, stored.data() + stored.size() - size_t(tail), sizeof elements);
  check(pickle_sizes(args[2], what) == shape && pickle_integer(args[1], what) == 0 && elements == n &&
            stored.find("FloatStorage") != std::string::npos,
        "{} is no f32 tensor of shape {}", what, to_string(shape));
  std::vector<float> out(static_cast<size_t>(n));
  std::memcpy(out.data(), stored.data() + stored.size() - out.size() * sizeof(float), out.size() * sizeof(float));
  return out;
}

// Slots of the history, from the shape of a tensor that floats_in checks.
i64 slots_of(const PickleValue* v, const std::string& what) {
  check(v != nullptr && v->kind == PickleValue::Kind::object && v->args->items.size() >= 4, "{} is no tensor", what);
  const Shape shape = pickle_sizes(v->args->items[2], what);
  check(shape.size() == 2 && shape[0] > 0, "{} has shape {}: want [H, tensors]", what, to_string(shape));
  return shape[0];
}

class HeldStates final : public TensorReader {
 public:
  explicit HeldStates(const std::string& where) : TensorReader(where) {}
  void hold(const std::string& name, std::vector<float> state) {
    add({.name = name, .dtype = DType::f32, .shape = {i64(state.size()) / kTensors, kTensors}});
    states_.push_back(std::move(state));
  }

 private:
  void do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const override {
    std::memcpy(out, states_.at(tensor).data() + begin, size_t(n) * sizeof(float));
  }
  std::vector<std::vector<float>> states_;
};

std::string_view without(std::string_view name, std::string_view end) {
  return name.substr(0, name.size() - end.size());
}

// The number in "decoder.layers.3.mlp", or -1.
i64 layer_in(const std::string& name) {
  constexpr std::string_view kLayers = "layers.";
  const size_t at = name.find(kLayers);
  return at == name.npos ? -1 : std::atoll(name.c_str() + at + kLayers.size());
}

}  // namespace

std::vector<float> fp8_state_in(std::span<const std::byte> pickle, const std::string& where) {
  if (pickle.empty()) return {};
  const Pickle read(pickle, where);
  const PickleValue &state = read.root(), *forward = state.find("amax_history_fwd"),
                    *backward = state.find("amax_history_bwd");
  if (forward == nullptr || backward == nullptr) return {};
  const i64 slots = slots_of(forward, where);
  const Shape all = pickle_sizes(forward->args->items[2], where);
  constexpr i64 kForward = 3, kBackward = 2;
  if (all[1] != kForward) return {};
  const auto floats = [&](const char* name, const Shape& shape) {
    return floats_in(state.find(name), shape, fmt::format("{}: {}", where, name));
  };
  const std::vector<float> scale = floats("scale_fwd", {kForward}),
                           scale_of_gradients = floats("scale_bwd", {kBackward}),
                           history = floats("amax_history_fwd", {slots, kForward}),
                           of_gradients = floats("amax_history_bwd", {slots, kBackward});
  std::vector<float> out = {scale[0], scale[1], scale_of_gradients[0]};
  for (size_t s = 0; s < size_t(slots); ++s)
    out.insert(out.end(), {history[s * kForward], history[s * kForward + 1], of_gradients[s * kBackward]});
  for (size_t t = 0; t < size_t(kTensors); ++t) {  // it starts with a scale of 1 and no history
    bool is_seen = false;
    for (size_t s = 1; s <= size_t(slots); ++s) is_seen = is_seen || out[s * kTensors + t] != 0;
    if (!is_seen) out[t] = 0;
  }
  return out;
}

std::shared_ptr<const TensorReader> read_fp8_states(TorchDist& dist, const ModelConfig& model, MegatronLayers layers) {
  constexpr std::string_view kWeight = ".weight";
  auto held = std::make_shared<HeldStates>(dist.tensors().where());
  const TensorMapping mapping = megatron_mapping(model, layers, model.padded_vocab_size);
  std::map<std::string, std::vector<float>> read;  // by object
  for (const TensorLink& link : mapping.links) {
    const NamedShape& theirs = mapping.theirs[link.theirs];
    const std::string& ours = mapping.ours[link.ours].name;
    const i64 layer = layer_in(ours);
    if (!theirs.name.ends_with(kWeight) || !ours.ends_with(kWeight) || layer < 0) continue;
    const std::string object =
        layers == MegatronLayers::stacked
            ? fmt::format("{}._extra_state/shard_{}_{}", without(theirs.name, kWeight), layer, theirs.shape[0])
            : fmt::format("{}._extra_state/shard_0_1", without(theirs.name, kWeight));
    if (!read.contains(object)) {
      const std::string where = fmt::format("[load] {}: {}", dist.tensors().where(), object);
      const auto found = dist.object(object);
      const PickleValue* root = found ? found->root() : nullptr;
      const bool has_bytes = root != nullptr && found->file.tensor(*root);
      read[object] = has_bytes ? fp8_state_in(found->file.bytes(*root, "its tensor"), where) : std::vector<float>();
    }
    const std::vector<float>& state = read[object];
    const std::string name = std::string(without(ours, kWeight)) + std::string(kScaleState);
    if (!state.empty() && !held->find(name)) held->hold(name, state);
  }
  return held->tensors().empty() ? nullptr : held;
}

}  // namespace megalith
