#include "ckpt/torch/read_megatron.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/check.h"
#include "base/read_error.h"
#include "ckpt/formats.h"
#include "ckpt/tensors/joined_tensors.h"
#include "ckpt/torch/megatron_args.h"
#include "ckpt/torch/optimizer_state.h"

namespace megalith {
namespace {

// The name of its only stack: BERT's is an encoder. Only its tensors show that it is BERT.
std::string_view stack_of(const TensorReader& tensors) { return tensors.find(kBertHead) ? "encoder" : "decoder"; }

// By names of a decoder, without layers' numbers.
HasTensor tensor_finder(const TensorReader& tensors, MegatronLayers layers) {
  return [&tensors, layers](const std::string& name) {
    constexpr std::string_view kStack = "decoder", kLayers = ".layers.";
    std::string full = name;
    const size_t at = name.find(kLayers);
    if (layers == MegatronLayers::separate && at != name.npos) full.insert(at + kLayers.size(), "0.");
    if (name.starts_with(kStack)) full.replace(0, kStack.size(), stack_of(tensors));
    return tensors.find(full).has_value();
  };
}

i64 embedding_rows(const TensorReader& tensors) {
  const auto i = tensors.find("embedding.word_embeddings.weight");
  check(i && tensors.tensors()[*i].shape.size() == 2,
        "[load] {} holds no embedding.word_embeddings.weight: not a GPT or BERT of Megatron Core", tensors.where());
  return tensors.tensors()[*i].shape[0];
}

// For a T5, whose arguments may be wrong.
void count_layers(const TensorReader& files, MegatronLayers layers, ModelConfig& m) {
  const auto of = [&](const std::string& stack) -> i64 {
    const std::string before = stack + ".layers.", rest = "self_attention.linear_proj.weight";
    if (layers == MegatronLayers::stacked) return files.tensors()[files.at(before + rest)].shape.at(0);
    i64 n = 0;
    while (files.find(fmt::format("{}{}.{}", before, n, rest))) ++n;
    return n;
  };
  m.num_layers = of("encoder"), m.t5.decoder_num_layers = of("decoder");
}

// Megatron saves everything else as objects, except two things: the optimizer's state, and rotary frequencies. Versions
// before September 2023 saved these frequencies as a buffer.
bool is_weight(const TensorSpec& t) {
  return !is_optimizer_tensor(t.name) && !t.name.starts_with("chained_") && t.name != "rotary_pos_emb.inv_freq";
}

// Of our own checkpoints: tensors that are not trained have our names.
std::set<std::string> own_tensors(const TensorReader& files, const ModelConfig& model, const TensorMapping& mapping) {
  std::set<std::string> theirs, own;
  for (const NamedShape& t : mapping.theirs) theirs.insert({t.name, second_megatron_name(model, t.name)});
  for (const TensorSpec& t : files.tensors())
    if (is_weight(t) && !theirs.contains(t.name)) own.insert(t.name);
  return own;
}

// Error unless the files have exactly the model's weights, and possibly those in `own`.
void check_weights(const TensorReader& files, const ModelConfig& model, const TensorMapping& mapping,
                   const std::set<std::string>& own) {
  std::set<std::string> seconds;
  for (const NamedShape& t : mapping.theirs) seconds.insert(second_megatron_name(model, t.name));
  std::vector<NamedShape> found;
  for (const TensorSpec& t : files.tensors())
    if (is_weight(t) && !own.contains(t.name) && !seconds.contains(t.name)) found.push_back({t.name, t.shape});
  check_same_tensors("[load] " + files.where(), mapping.theirs, found);
}

void add_mapped(JoinedTensors& all, const std::shared_ptr<const TensorReader>& files, const TensorMapping& mapping,
                const std::string& their_prefix, const std::string& our_prefix) {
  const auto spell = [their_prefix](const std::string& name) { return their_prefix + name; };
  all.join(std::make_shared<MappedTensors>(files, mapping, MapTo::ours,
                                           MappedTensors::Options{.spell = spell, .prefix = our_prefix}));
}

// The links of the mapping for which the files have PREFIX NAME.
TensorMapping part_of_theirs(const TensorReader& files, const std::string& prefix, const TensorMapping& mapping) {
  std::set<std::string> ours;
  for (const TensorLink& link : mapping.links)
    if (files.find(prefix + mapping.theirs[link.theirs].name)) ours.insert(mapping.ours[link.ours].name);
  return part_of(mapping, [&](const std::string& name) { return ours.contains(name); });
}

// The links between model and files: all, those of trained parameters, and the others.
struct Links {
  TensorMapping all = {}, trained = {}, untrained = {};
};

MegatronExperts experts_in(const TensorReader& files) {
  const auto any = [&](auto&& is_it) { return std::ranges::any_of(files.tensors(), is_it, &TensorSpec::name); };
  if (any([](const std::string& n) { return n.ends_with(".linear_fc1.weight_w"); })) return MegatronExperts::singleton;
  return any([](const std::string& n) { return n.find(".mlp.experts.local_experts.") != n.npos; })
             ? MegatronExperts::apart
             : MegatronExperts::joined;
}

Links links_of(const TensorReader& files, const ModelConfig& model, MegatronLayers layers, i64 rows) {
  const MegatronExperts experts = experts_in(files);
  check(experts == MegatronExperts::joined || layers == MegatronLayers::separate,
        "[load] {}: experts have separate tensors, but layers do not", files.where());
  const HasTensor has = [&files](const std::string& name) { return files.find(name).has_value(); };
  Links links{.all = megatron_mapping(model, layers, rows, has, experts)};
  links.trained = trained_part(model, links.all), links.untrained = untrained_part(model, links.all);
  return links;
}

// Whether the optimizer's state has a weight's name.
bool has_state_of(const TensorReader& files, const std::string& weight) {
  const std::string state = kMegatronState;
  return std::ranges::any_of(files.tensors(), [&](const TensorSpec& t) {
    return t.name.starts_with(state) &&
           t.name.substr(std::min(t.name.size(), t.name.find('.', state.size()))) == "." + weight;
  });
}

// As the state names weights: a T5's by their second names, but for older checkpoints of ours.
TensorMapping state_mapping(const TensorReader& files, const ModelConfig& model, TensorMapping mapping) {
  for (NamedShape& t : mapping.theirs) {
    const std::string name = megatron_state_name(model, t.name);
    if (name != t.name && has_state_of(files, name)) t.name = name;
  }
  return mapping;
}

// Main values where the optimizer has them, and its states. UnplacedState if any of them is not whole.
std::shared_ptr<const TensorReader> logical_tensors(const std::shared_ptr<const TensorReader>& files,
                                                    const ModelConfig& model, const Links& links,
                                                    const std::set<std::string>& own) {
  const TensorMapping mapping = state_mapping(*files, model, links.trained);
  auto all = std::make_shared<JoinedTensors>(files->where());
  const std::string state = kMegatronState;
  std::string main;
  for (const char* kind : kMainKinds)
    if (has_state(*files, kind, mapping.theirs)) main = state + kind + ".";
  add_mapped(*all, files, main.empty() ? links.trained : mapping, main, "");
  if (!links.untrained.ours.empty()) add_mapped(*all, files, links.untrained, "", "");
  all->join(files, [&](const std::string& name) { return own.contains(name); });
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

std::shared_ptr<const TensorReader> without_state(const std::shared_ptr<const TensorReader>& files) {
  auto weights = std::make_shared<JoinedTensors>(files->where());
  weights->join(files, [](const std::string& name) { return !name.starts_with(kMegatronState); });
  return weights;
}

}  // namespace

void read_megatron(const std::shared_ptr<const TensorReader>& files, const PickleValue& common,
                   const FindState& find_state, std::optional<i64> steps, i64 vocab_size, AnyCheckpoint& c) {
  read_own_state(common, c);
  if (!c.hf_config.empty() && c.foreign()) {
    c.tensors = files;
    return;
  }
  const std::string first = fmt::format("{}.layers.0.self_attention.linear_proj.weight", stack_of(*files));
  const auto layers = files->find(first) ? MegatronLayers::separate : MegatronLayers::stacked;
  const i64 rows = embedding_rows(*files);
  if (!c.model) {
    const PickleValue* args = common.find("args");
    check(args != nullptr, "[load] {} holds no arguments of Megatron", c.path);
    c.model = model_of_args(*args, tensor_finder(*files, layers), rows, vocab_size);
    if (c.model->is_t5()) count_layers(*files, layers, *c.model);
    c.manifest = manifest_of_common(common, *c.model, steps);
  }
  const Links links = links_of(*files, *c.model, layers, rows);
  const std::set<std::string> own =
      common.find("megalith") ? own_tensors(*files, *c.model, links.all) : std::set<std::string>();
  check_weights(*files, *c.model, links.all, own);
  try {
    c.tensors = logical_tensors(find_state(*c.model, layers), *c.model, links, own);
  } catch (const DamagedFile&) {
    throw;
  } catch (const Error& e) {
    c.state_problem = e.what();
    c.tensors = logical_tensors(without_state(files), *c.model, links, own);
  }
}

}  // namespace megalith
