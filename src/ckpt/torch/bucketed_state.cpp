#include "ckpt/torch/bucketed_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

#include "base/read_error.h"
#include "ckpt/torch/buckets.h"
#include "ckpt/torch/optimizer_state.h"
#include "ckpt/torch/rank_parts.h"
#include "mesh/block_copy.h"

namespace megalith {
namespace {

constexpr std::string_view kBegin = "optimizer.distributed.dp_group_idx_";
constexpr std::string_view kLayers = "decoder.layers.";
constexpr std::size_t kKinds = std::size(kStateKinds);

using Bucket = std::array<std::optional<std::size_t>, kKinds>;  // its tensors in the files
using Buffer = std::map<i64, Bucket>;                           // by bucket
using Buffers = std::map<i64, std::map<i64, Buffer>>;           // by model-parallel rank, then buffer

// Takes "WORD123" from the front.
std::optional<i64> take_number(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return std::nullopt;
  text.remove_prefix(word.size());
  i64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0 || value > 1'000'000) return std::nullopt;
  text.remove_prefix(std::size_t(end - text.data()));
  return value;
}

Buffers buffers_of(const TensorStore& files) {
  Buffers out;
  for (std::size_t i = 0; i < files.tensors().size(); ++i) {
    const std::string& name = files.tensors()[i].name;
    want(!name.starts_with("chained_"), "it is of several optimizers");
    if (!name.starts_with(kBegin)) continue;
    std::string_view rest = name;
    const auto rank = take_number(rest, kBegin), buffer = take_number(rest, ".gbuf_idx_");
    const auto dtype = rest.find(").bucket_idx_");
    if (dtype != rest.npos) rest.remove_prefix(dtype + 1);
    const auto bucket = take_number(rest, ".bucket_idx_");
    want(rank && buffer && bucket, "{} is no name of a bucket that is known", name);
    const auto kind = std::ranges::find_if(kStateKinds, [&](const char* k) { return rest == std::string(".") + k; });
    if (kind == std::end(kStateKinds)) continue;
    want(files.tensors()[i].shape.size() == 1, "{} is not flat", name);
    out[*rank][*buffer][*bucket][std::size_t(kind - std::begin(kStateKinds))] = i;
  }
  return out;
}

// A parameter of one model chunk. Layers are numbered from 0 in it; -1: outside of layers.
struct Param {
  std::string name;  // of a layer's without the number
  i64 layer = -1;
  bool alone = false, stored = true;  // a copy of a shared embedding is not stored again
};

class Placer {
 public:
  Placer(const TensorStore& files, const PickleValue& args, const ModelConfig& model, MegatronLayers layers)
      : files_(files), model_(model), layers_(layers), buffers_(buffers_of(files)) {
    want(!model.mla.on(), "the order of parameters in a buffer is unknown for multi-head latent attention");
    tensor_ranks_ = pickle_integer(args.find("tensor_model_parallel_size"), "[load] tensor_model_parallel_size");
    stages_ = pickle_integer(args.find("pipeline_model_parallel_size"), "[load] pipeline_model_parallel_size");
    want(tensor_ranks_ > 0 && stages_ > 0 && i64(buffers_.size()) == tensor_ranks_ * stages_ &&
             buffers_.rbegin()->first + 1 == i64(buffers_.size()),
         "it is of {} model-parallel ranks, the run had {} x {}", buffers_.size(), tensor_ranks_, stages_);
    for (const auto& [rank, chunks] : buffers_)
      want(chunks.size() == buffers_.at(0).size() && chunks.rbegin()->first + 1 == i64(chunks.size()),
           "model-parallel rank {} has {} buffers, rank 0 {}", rank, chunks.size(), buffers_.at(0).size());
  }

  // `norm_first`: a layer's first norm precedes its other parameters, instead of following the product after it.
  std::shared_ptr<TensorStore> place(bool norm_first);

 private:
  struct Whole {  // a tensor that is put together
    Shape shape;
    std::array<DType, kKinds> types;
    std::array<std::vector<StoredBox>, kKinds> boxes;
  };

  std::vector<std::string> layer_names(bool norm_first) const;
  std::vector<Param> params_of(i64 stage, i64 chunk, i64 layers) const;
  std::string file_name(const std::string& name, i64 layer) const;
  Shape local_shape(const Param& p) const;
  BucketLayout layout_of(const std::vector<Param>& params, const Buffer& buffer) const;
  i64 layers_in(i64 stage, i64 chunk, i64 most) const;
  void add(const Param& p, i64 layer, i64 rank, const Bucket& bucket, i64 start, TensorStore& out);

  const TensorStore& files_;
  const ModelConfig& model_;
  MegatronLayers layers_;
  Buffers buffers_;
  i64 tensor_ranks_ = 1, stages_ = 1;
  std::vector<std::string> layer_names_;
  std::map<std::string, Whole> wholes_;
};

std::string Placer::file_name(const std::string& name, i64 layer) const {
  if (layer < 0) return name;
  return layers_ == MegatronLayers::separate ? fmt::format("{}{}.{}", kLayers, layer, name)
                                             : std::string(kLayers) + name;
}

// In the order in which Megatron's modules are made.
std::vector<std::string> Placer::layer_names(bool norm_first) const {
  const std::string norm = "self_attention.linear_qkv.layer_norm_";
  std::vector<std::string> names = {"self_attention.linear_proj.weight",
                                    "self_attention.linear_proj.bias",
                                    norm + "weight",
                                    norm + "bias",
                                    "self_attention.linear_qkv.weight",
                                    "self_attention.linear_qkv.bias",
                                    "self_attention.q_layernorm.weight",
                                    "self_attention.q_layernorm.bias",
                                    "self_attention.k_layernorm.weight",
                                    "self_attention.k_layernorm.bias",
                                    "mlp.linear_fc1.layer_norm_weight",
                                    "mlp.linear_fc1.layer_norm_bias",
                                    "mlp.linear_fc1.weight",
                                    "mlp.linear_fc1.bias",
                                    "mlp.linear_fc2.weight",
                                    "mlp.linear_fc2.bias"};
  if (norm_first) std::ranges::stable_partition(names, [&](const std::string& n) { return n.starts_with(norm); });
  std::erase_if(names, [&](const std::string& n) { return !files_.find(file_name(n, 0)); });
  return names;
}

std::vector<Param> Placer::params_of(i64 stage, i64 chunk, i64 layers) const {
  const bool first = stage == 0 && chunk == 0;
  const bool last = stage + 1 == stages_ && chunk + 1 == i64(buffers_.at(0).size());
  const bool shared = !model_.untie_embeddings_and_output_weights && stages_ > 1;
  std::vector<Param> params;
  if (first) params.push_back({.name = "embedding.word_embeddings.weight", .alone = shared});
  if (first && files_.find("embedding.position_embeddings.weight"))
    params.push_back({.name = "embedding.position_embeddings.weight"});
  for (i64 n = 0; n < layers; ++n)
    for (const std::string& name : layer_names_) params.push_back({.name = name, .layer = n});
  if (!last) return params;
  for (const char* name : {"decoder.final_layernorm.weight", "decoder.final_layernorm.bias"})
    if (files_.find(name)) params.push_back({.name = name});
  if (shared)
    params.push_back({.name = "embedding.word_embeddings.weight", .alone = true, .stored = false});
  else if (model_.untie_embeddings_and_output_weights)
    params.push_back({.name = "output_layer.weight"});
  return params;
}

Shape Placer::local_shape(const Param& p) const {
  const std::string name = file_name(p.name, p.layer < 0 ? -1 : 0);
  const auto i = files_.find(name);
  want(i.has_value(), "there is no weight {}", name);
  Shape shape = files_.tensors()[*i].shape;
  if (p.layer >= 0 && layers_ == MegatronLayers::stacked && !shape.empty()) shape.erase(shape.begin());
  return RankParts(p.name, tensor_ranks_, model_.gated()).part(shape, "[load] " + name);
}

BucketLayout Placer::layout_of(const std::vector<Param>& params, const Buffer& buffer) const {
  std::vector<i64> sizes;
  for (const auto& [k, bucket] : buffer) sizes.push_back(bucket[0] ? files_.tensors()[*bucket[0]].shape[0] : 0);
  std::vector<BucketParam> shapes;
  for (const Param& p : params) shapes.push_back({count(local_shape(p)), p.alone});
  BucketLayout layout =
      lay_out_buckets(shapes, [&](std::size_t k, i64 size) { return k < sizes.size() && size == sizes[k]; });
  if (layout.sizes != sizes) layout.places.clear();
  return layout;
}

// How many layers fill a chunk's buckets.
i64 Placer::layers_in(i64 stage, i64 chunk, i64 most) const {
  for (i64 n = 0; n <= most; ++n) {
    const std::vector<Param> params = params_of(stage, chunk, n);
    if (!params.empty() && !layout_of(params, buffers_.at(stage * tensor_ranks_).at(chunk)).places.empty()) return n;
  }
  throw UnplacedState(
      fmt::format("no number of layers fills the buckets of pipeline rank {}, model chunk {}", stage, chunk));
}

void Placer::add(const Param& p, i64 layer, i64 rank, const Bucket& bucket, i64 start, TensorStore& out) {
  const RankParts cut(p.name, tensor_ranks_, model_.gated());
  if (!p.stored || (rank > 0 && !cut.is_cut())) return;
  const std::string name = file_name(p.name, layer);
  const Shape part = local_shape(p), strides = row_major_strides(part);
  const i64 n = count(part);
  const bool stacked = layer >= 0 && layers_ == MegatronLayers::stacked;
  Whole& whole = wholes_[name];
  whole.shape = files_.tensors()[files_.at(name)].shape;
  for (std::size_t k = 0; k < kKinds; ++k) {
    want(bucket[k].has_value(), "a bucket has no {}", kStateKinds[k]);
    whole.types[k] = files_.tensors()[*bucket[k]].dtype;
    const i64 element = size_of(whole.types[k]);
    std::vector<StoredBox> boxes;
    for (const StoredBox& run : files_.boxes(*bucket[k])) {
      const i64 first = std::max(run.offset[0], start), last = std::min(run.offset[0] + run.shape[0], start + n);
      if (first >= last) continue;
      want(run.strides[0] == 1 || run.shape[0] == 1, "a bucket's parts are not contiguous");
      i64 position = run.position + (first - run.offset[0]) * element;
      for_boxes(part, first - start, last - first, [&](const Shape& offset, const Shape& shape) {
        cut.place({.offset = offset,
                   .shape = shape,
                   .strides = strides,
                   .file = out.add_file(files_.file(run.file).path()),
                   .position = position,
                   .swapped = run.swapped},
                  rank, part, element, boxes);
        position += count(shape) * element;
      });
    }
    for (StoredBox& box : boxes) {
      if (stacked) {
        box.offset.insert(box.offset.begin(), layer);
        box.shape.insert(box.shape.begin(), 1);
        box.strides.insert(box.strides.begin(), 0);
      }
      whole.boxes[k].push_back(std::move(box));
    }
  }
}

std::shared_ptr<TensorStore> Placer::place(bool norm_first) {
  want(model_.mtp.num_layers == 0, "the order of its buckets is unknown with multi-token prediction");
  layer_names_ = layer_names(norm_first);
  wholes_.clear();
  auto out = std::make_shared<TensorStore>(files_.where(), files_.past_cache());
  const i64 chunks = i64(buffers_.at(0).size());
  i64 first_layer = 0;
  for (i64 chunk = 0; chunk < chunks; ++chunk)
    for (i64 stage = 0; stage < stages_; ++stage) {
      const i64 layers = layers_in(stage, chunk, model_.num_layers - first_layer);
      const std::vector<Param> params = params_of(stage, chunk, layers);
      for (i64 rank = 0; rank < tensor_ranks_; ++rank) {
        const Buffer& buffer = buffers_.at(stage * tensor_ranks_ + rank).at(chunk);
        const BucketLayout layout = layout_of(params, buffer);
        want(!layout.places.empty(), "the model's parameters don't fill the buckets of model-parallel rank {}",
             stage * tensor_ranks_ + rank);
        for (std::size_t i = 0; i < params.size(); ++i)
          add(params[i], params[i].layer < 0 ? -1 : first_layer + params[i].layer, rank,
              std::next(buffer.begin(), i64(layout.places[i].bucket))->second, layout.places[i].start, *out);
      }
      first_layer += layers;
    }
  want(first_layer == model_.num_layers, "its buckets have {} of {} layers", first_layer, model_.num_layers);
  for (const auto& [name, whole] : wholes_)
    for (std::size_t k = 0; k < kKinds; ++k)
      out->add_tensor({fmt::format("{}{}.{}", kMegatronState, kStateKinds[k], name), whole.types[k], whole.shape},
                      whole.boxes[k]);
  return out;
}

}  // namespace

bool has_bucketed_state(const TensorReader& files) {
  return std::ranges::any_of(files.tensors(), [](const TensorSpec& t) {
    return t.name.starts_with("optimizer.distributed.") || t.name.starts_with("chained_");
  });
}

std::shared_ptr<const TensorReader> read_bucketed_state(const TensorStore& files, const PickleValue& args,
                                                        const ModelConfig& model, MegatronLayers layers) {
  if (model.architecture != Architecture::gpt)
    throw UnplacedState(
        fmt::format("the order of a {}'s parameters in buckets is unknown", name_of(model.architecture)));
  Placer placer(files, args, model, layers);
  std::string problem;
  for (const bool norm_first : {false, true}) try {
      auto state = placer.place(norm_first);
      check_main_values(files, *state);
      return state;
    } catch (const DamagedFile&) {
      throw;
    } catch (const Error& e) {
      if (problem.empty()) problem = e.what();
    }
  throw UnplacedState(problem);
}

}  // namespace megalith
