#include "ckpt/open_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/check.h"
#include "base/parse_json.h"
#include "base/read_error.h"
#include "ckpt/hf/hf_weights.h"
#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/native/model_json.h"
#include "ckpt/tensors/joined_tensors.h"
#include "ckpt/tensors/tensor_store.h"
#include "ckpt/torch/bucketed_state.h"
#include "ckpt/torch/megatron_args.h"
#include "ckpt/torch/megatron_mapping.h"
#include "ckpt/torch/optimizer_state.h"
#include "mesh/block_copy.h"

namespace megalith {
namespace {

using nlohmann::ordered_json;

class NativeTensors final : public TensorReader {
 public:
  explicit NativeTensors(Checkpoint checkpoint) : TensorReader(checkpoint.path()), checkpoint_(std::move(checkpoint)) {
    for (const CheckpointTensor& t : checkpoint_.tensors()) add({t.name, t.dtype, t.shape});
  }
  i64 cut_before(std::size_t tensor, i64 end) const override {
    return checkpoint_.cut_before(tensors()[tensor].name, end);
  }

 private:
  void do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const override {
    checkpoint_.read_range(tensors()[tensor].name, begin, n, out);
  }
  void do_read_box(std::size_t tensor, const Shape& offset, const Shape& shape, std::byte* out) const override {
    const TensorSpec& t = tensors()[tensor];
    checkpoint_.read_block(t.name, offset, shape, {out, std::size_t(count(shape) * size_of(t.dtype))});
  }

  i64 cheapest_read() const override { return kChunkBytes; }  // each has a checksum

  Checkpoint checkpoint_;
};

// What convert leaves in the training state: where the model came from.
void read_origin(const std::string& state_json, AnyCheckpoint& c) {
  const auto state = parse_json<ordered_json>(state_json);
  check(state.is_object(), "[load] {}: its training state is not a JSON object", c.path);
  if (state.contains("hf_config") && state["hf_config"].is_string())
    c.hf_config = state["hf_config"].get<std::string>();
  if (!state.value("hf_foreign", false)) c.model = model_from_json(c.manifest.config_json, "[load] " + c.path);
}

std::string hf_state(const std::string& hf_config, bool foreign) {
  ordered_json state = {
      {"schedule_samples", 0}, {"optimizer_steps", 0}, {"skipped_iterations", 0}, {"hf_config", hf_config}};
  if (foreign) state["hf_foreign"] = true;
  return state.dump();
}

HasTensor tensor_finder(const TensorReader& tensors, MegatronLayers layers) {
  return [&tensors, layers](const std::string& name) {
    constexpr std::string_view kLayers = "decoder.layers.";
    std::string full = name;
    if (layers == MegatronLayers::separate && name.starts_with(kLayers)) full.insert(kLayers.size(), "0.");
    return tensors.find(full).has_value();
  };
}

i64 embedding_rows(const TensorReader& tensors) {
  const auto i = tensors.find("embedding.word_embeddings.weight");
  check(i && tensors.tensors()[*i].shape.size() == 2,
        "[load] {} holds no embedding.word_embeddings.weight: not a GPT of Megatron Core", tensors.where());
  return tensors.tensors()[*i].shape[0];
}

// Error unless the files' weights are those of the model, none more and none less. Megatron keeps all else as objects,
// but for the optimizer's state, and rotary frequencies, which versions of before September 2023 saved as a
// buffer.
void check_weights(const TensorReader& files, const TensorMapping& mapping) {
  std::vector<NamedShape> found;
  for (const TensorSpec& t : files.tensors())
    if (!is_optimizer_tensor(t.name) && !t.name.starts_with("chained_") && t.name != "rotary_pos_emb.inv_freq")
      found.push_back({t.name, t.shape});
  check_same_tensors("[load] " + files.where(), mapping.theirs, found);
}

void add_mapped(JoinedTensors& all, const std::shared_ptr<const TensorReader>& files, const TensorMapping& mapping,
                const std::string& their_prefix, const std::string& our_prefix) {
  const auto spell = [their_prefix](const std::string& name) { return their_prefix + name; };
  all.join(std::make_shared<MappedTensors>(files, mapping, MapTo::ours,
                                           MappedTensors::Options{.spell = spell, .prefix = our_prefix}));
}

// The part of the mapping of which the files have PREFIX NAME.
TensorMapping part_of_theirs(const TensorReader& files, const std::string& prefix, const TensorMapping& mapping) {
  std::set<std::string> ours;
  for (const TensorLink& link : mapping.links)
    if (files.find(prefix + mapping.theirs[link.theirs].name)) ours.insert(mapping.ours[link.ours].name);
  return part_of(mapping, [&](const std::string& name) { return ours.contains(name); });
}

// Main values where the optimizer has them, and its states. UnplacedState if any of them is not whole.
std::shared_ptr<const TensorReader> logical_tensors(const std::shared_ptr<const TensorReader>& files,
                                                    const TensorMapping& mapping) {
  auto all = std::make_shared<JoinedTensors>(files->where());
  const std::string state = kMegatronState;
  std::string main;
  for (const char* kind : kMainKinds)
    if (has_state(*files, kind, mapping.theirs)) main = state + kind + ".";
  add_mapped(*all, files, mapping, main, "");
  for (const std::string& kind : kinds_of_state(*files, state, mapping.theirs)) {
    const TensorMapping kept = part_of_theirs(*files, state + kind + ".", mapping);
    add_mapped(*all, files, kept, state + kind + ".", kOptimizerState + kind + ".");
  }
  return all;
}

void read_own_state(const PickleValue& common, AnyCheckpoint& c) {
  const PickleValue* own = common.find("megalith");
  if (own == nullptr) return;
  c.manifest.config_json = pickle_text(own->find("config"), "[load] " + c.path + ": our settings");
  c.manifest.state_json = pickle_text(own->find("state"), "[load] " + c.path + ": our state");
  if (const PickleValue* args = common.find("args"))
    if (const PickleValue* samples = args->find("consumed_train_samples"))
      c.manifest.consumed_samples = pickle_count(samples, "[load] " + c.path + ": consumed_train_samples");
  c.manifest.iteration = pickle_count(common.find("iteration"), "[load] " + c.path + ": iteration");
  read_origin(c.manifest.state_json, c);
}

// The files' tensors with the optimizer's state as tensors of its parameters. Error if that can't be made of it.
using FindState = std::function<std::shared_ptr<const TensorReader>(const ModelConfig&, MegatronLayers)>;

std::shared_ptr<const TensorReader> without_state(const std::shared_ptr<const TensorReader>& files) {
  auto weights = std::make_shared<JoinedTensors>(files->where());
  weights->join(files, [](const std::string& name) { return !name.starts_with(kMegatronState); });
  return weights;
}

// The model and run, and the logical tensors, of Megatron's files. `steps`: of Adam, if they say.
void read_megatron(const std::shared_ptr<const TensorReader>& files, const PickleValue& common,
                   const FindState& find_state, std::optional<i64> steps, i64 vocab_size, AnyCheckpoint& c) {
  read_own_state(common, c);
  if (!c.hf_config.empty() && c.foreign()) {
    c.tensors = files;
    return;
  }
  const auto layers =
      files->find("decoder.layers.0.mlp.linear_fc1.weight") ? MegatronLayers::separate : MegatronLayers::stacked;
  const i64 rows = embedding_rows(*files);
  if (!c.model) {
    const PickleValue* args = common.find("args");
    check(args != nullptr, "[load] {} holds no arguments of Megatron", c.path);
    c.model = model_of_args(*args, tensor_finder(*files, layers), rows, vocab_size);
    c.manifest = manifest_of_common(common, *c.model, steps);
  }
  const TensorMapping mapping = megatron_mapping(*c.model, layers, rows);
  check_weights(*files, mapping);
  try {
    c.tensors = logical_tensors(find_state(*c.model, layers), mapping);
  } catch (const DamagedFile&) {
    throw;
  } catch (const Error& e) {
    c.state_problem = e.what();
    c.tensors = logical_tensors(without_state(files), mapping);
  }
}

}  // namespace

std::shared_ptr<const TensorReader> read_native_files(Checkpoint checkpoint) {
  return std::make_shared<NativeTensors>(std::move(checkpoint));
}

AnyCheckpoint open_native(const std::string& dir, const AnyOpenOptions& options) {
  Checkpoint checkpoint = open_checkpoint(dir, {.iteration = options.iteration,
                                                .verify = options.verify,
                                                .no_later_than = options.no_later_than,
                                                .whole = options.whole,
                                                .past_cache = options.past_cache,
                                                .tells = options.tells,
                                                .or_older = options.or_older});
  AnyCheckpoint c{.format = CkptFormat::native, .path = checkpoint.path(), .manifest = checkpoint.manifest()};
  c.passed_over = checkpoint.passed_over();
  read_origin(c.manifest.state_json, c);
  c.tensors = read_native_files(std::move(checkpoint));
  return c;
}

AnyCheckpoint open_hf(const std::string& dir, const AnyOpenOptions& options) {
  const std::string path = dir + "/config.json";
  const TensorFiles files = TensorFiles::open_directory(dir);
  AnyCheckpoint c{.format = CkptFormat::hf, .path = dir, .hf_config = read_text(path)};
  if (!is_our_hf_architecture(c.hf_config, "[hf] " + path)) {
    c.manifest.state_json = hf_state(c.hf_config, true);
    c.tensors = read_hf_files(
        files, [](const TensorInfo&) { return true; }, options.past_cache);
    return c;
  }
  const HfConfig config = read_hf_config(dir);
  c.model = config.model;
  c.model->resolve();
  c.manifest.config_json = model_to_json(*c.model);
  c.manifest.state_json = hf_state(c.hf_config, false);
  c.tensors = read_hf_weights(files, config, options.past_cache);
  return c;
}

AnyCheckpoint open_torch_dist(const std::string& dir, const AnyOpenOptions& options) {
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
  const auto find_state = [&](const ModelConfig& model, MegatronLayers layers) -> std::shared_ptr<const TensorReader> {
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
  const auto steps = optimizer_steps(own ? own->root() : common.find("optimizer"));
  read_megatron(dist.share(), common, find_state, steps, options.vocab_size, c);
  const bool named = !bucketed && !pickled;
  if (!c.state_problem.empty())
    c.state_problem = fmt::format(
        "its optimizer state can't be {}, as {}: {}", named ? "taken" : "placed for certain", c.state_problem,
        named ? "load another checkpoint" : "save it with Megatron's --dist-ckpt-optim-fully-reshardable");
  return c;
}

AnyCheckpoint open_torch_legacy(const std::string& dir, const AnyOpenOptions& options) {
  AnyCheckpoint c{.format = CkptFormat::torch, .path = dir, .mark = ReadMark(dir)};
  const TorchLegacy files(dir, options.past_cache);
  c.sums = files.sums();
  const auto find_state = [&](const ModelConfig&, MegatronLayers) {
    check(files.state_problem().empty(), "{}", files.state_problem());
    check_main_values(files.tensors(), files.tensors());
    return files.share();
  };
  read_megatron(files.share(), files.common(), find_state, files.optimizer_steps(), options.vocab_size, c);
  if (!c.state_problem.empty())
    c.state_problem = fmt::format(
        "its optimizer state can't be placed for certain, as {}: save it with Megatron's --ckpt-format torch_dist "
        "--dist-ckpt-optim-fully-reshardable",
        c.state_problem);
  return c;
}

}  // namespace megalith
