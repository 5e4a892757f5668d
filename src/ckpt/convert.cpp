#include "ckpt/convert.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/canonical_path.h"
#include "base/check.h"
#include "base/log.h"
#include "base/one_line.h"
#include "base/parse_json.h"
#include "base/read_error.h"
#include "ckpt/hf/hf_mapping.h"
#include "ckpt/hf/hf_token_ids.h"
#include "ckpt/hf/hf_weights.h"
#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/native/save_lock.h"
#include "ckpt/tensors/joined_tensors.h"
#include "ckpt/torch/megatron_common.h"
#include "ckpt/torch/megatron_mapping.h"
#include "ckpt/torch/megatron_save.h"
#include "ckpt/torch/optimizer_state.h"
#include "ckpt/torch/torch_dist_save.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// The set without the excluded tensors.
std::shared_ptr<const TensorReader> chosen(const AnyCheckpoint& from, const ConvertOptions& options) {
  if (options.with_optimizer) return from.tensors;
  auto weights = std::make_shared<JoinedTensors>(from.tensors->where());
  weights->join(from.tensors, [](const std::string& name) { return !is_optimizer_tensor(name); });
  return weights;
}

std::set<std::string> weights_of(const ModelConfig& model) {
  std::set<std::string> names;
  for (const NamedShape& w : megatron_mapping(model, MegatronLayers::stacked, megatron_rows(model)).ours)
    names.insert(w.name);
  return names;
}

// Tensors that no computation reads are copied for architectures that we don't have. Those that are not trained may
// have integer types.
void check_types(const AnyCheckpoint& c) {
  if (c.foreign()) return;
  const std::set<std::string> weights = weights_of(*c.model);
  const auto is_trained = [&](const std::string& name) { return is_optimizer_tensor(name) || weights.contains(name); };
  for (const TensorSpec& t : c.tensors->tensors())
    check(is_float(t.dtype) || (t.dtype == DType::i32 && !is_trained(t.name)),
          "[load] {}: tensor \"{}\" has type {}: want a floating-point type", c.path, t.name, name_of(t.dtype));
}

struct Target {
  std::string dir;
  SaveOptions saving;
  SideFiles side_files;

  // Called when nothing can be refused any more, before the marker of a complete checkpoint is written.
  void copy_side_files() const { place_side_files(side_files, dir); }
};

i64 write_native(const AnyCheckpoint& from, const Target& target, const ConvertOptions& options) {
  const auto tensors = chosen(from, options);
  const std::set<std::string> weights = options.type ? weights_of(*from.model) : std::set<std::string>{};
  std::vector<SaveTensor> list;
  for (std::size_t i = 0; i < tensors->tensors().size(); ++i) {
    const TensorSpec& t = tensors->tensors()[i];
    const DType type = weights.contains(t.name) ? *options.type : t.dtype;  // other state keeps its own
    SaveTensor& out = list.emplace_back(SaveTensor{t.name, t.shape, type});
    out.fill = [&tensors, i, type](i64 begin, i64 n, std::byte* to) { tensors->read_range_as(i, begin, n, type, to); };
  }
  target.copy_side_files();
  save_checkpoint(target.dir, from.manifest, list, target.saving);
  return i64(list.size());
}

// The type of the embedding, which represents the others if types differ.
DType embedding_type(const TensorReader& tensors) {
  return tensors.tensors()[tensors.at("embedding.word_embeddings.weight")].dtype;
}

// The type of all parameters: the requested one; else the 16-bit type in which the run computed, if there are main
// values; none: each keeps its stored type.
std::optional<DType> parameter_type(const AnyCheckpoint& from, const TensorReader& tensors,
                                    const ConvertOptions& options) {
  if (options.type) return options.type;
  const auto config = parse_json<ordered_json>(from.manifest.config_json);
  const auto is_on = [&](const char* flag) {
    return config.is_object() && config.contains(flag) && config[flag] == true;
  };
  const bool state =
      std::ranges::any_of(tensors.tensors(), [](const TensorSpec& t) { return is_optimizer_tensor(t.name); });
  if (!state) return std::nullopt;
  return is_on("bf16") ? std::optional(DType::bf16) : is_on("fp16") ? std::optional(DType::f16) : std::nullopt;
}

void check_copied_as_is(const ConvertOptions& options) {
  check(!options.type && options.family.empty(),
        "this architecture is not built yet: its tensors can only be copied, without --dtype and --family");
}

i64 write_foreign_torch_dist(const AnyCheckpoint& from, const Target& target, const ConvertOptions& options) {
  check_copied_as_is(options);
  log::warn(
      "this architecture is not built yet: its tensors keep their Hugging Face names, which Megatron-LM does not "
      "know");
  const ModelConfig none;
  const std::string common = pickle_common({.manifest = from.manifest, .model = none});
  target.copy_side_files();
  save_torch_dist(target.dir, from.manifest.iteration, {common}, *from.tensors, target.saving);
  return i64(from.tensors->tensors().size());
}

i64 write_torch_dist(const AnyCheckpoint& from, const Target& target, const ConvertOptions& options) {
  if (from.foreign()) return write_foreign_torch_dist(from, target, options);
  const auto tensors = chosen(from, options);
  const ModelConfig& m = *from.model;
  const i64 rows = megatron_rows(m);
  check(!m.is_retro(), "{}: a RETRO is not written for Megatron-LM, which has none any more: keep it as it is",
        from.path);
  if (const std::string unknown = unknown_to_megatron(m); !unknown.empty())
    log::warn(
        "Megatron-LM does not know {}: it would make another model of this checkpoint, which only we read as it is",
        unknown);
  const TensorMapping mapping = megatron_mapping(m, megatron_layers(m), rows);
  const std::optional<DType> type = parameter_type(from, *tensors, options);
  JoinedTensors all(from.path);
  const TensorMapping trained = trained_part(m, mapping), untrained = untrained_part(m, mapping);
  const auto add = [&](const TensorMapping& part, const std::string& ours, const std::string& theirs,
                       std::optional<DType> as) {
    const auto spell = [ours](const std::string& name) { return ours + name; };
    const auto has = [&](const std::string& name) { return tensors->find(ours + name).has_value(); };
    const TensorMapping kept = ours.empty() ? part : part_of(part, has);  // of weights none may be missing
    all.join(std::make_shared<MappedTensors>(tensors, kept, MapTo::theirs,
                                             MappedTensors::Options{.type = as, .spell = spell, .prefix = theirs}));
  };
  add(with_second_names(m, trained), "", "", type);
  if (!untrained.ours.empty())
    all.join(
        std::make_shared<MappedTensors>(tensors, untrained, MapTo::theirs, MappedTensors::Options{.type = DType::f32}));
  std::set<std::string> mapped;
  for (const NamedShape& t : mapping.ours) mapped.insert(t.name);
  all.join(tensors, [&](const std::string& name) { return !is_optimizer_tensor(name) && !mapped.contains(name); });
  const std::string state = kMegatronState;
  const std::vector<std::string> kinds = kinds_of_state(*tensors, kOptimizerState, trained.ours);
  const TensorMapping stated = with_state_names(m, trained);
  if (!kinds.empty()) add(stated, "", state + "param.", DType::f32);
  for (const std::string& kind : kinds) add(stated, kOptimizerState + kind + ".", state + kind + ".", DType::f32);
  const MegatronState common{.manifest = from.manifest,
                             .model = m,
                             .rows = rows,
                             .has_optimizer = !kinds.empty(),
                             .params = type.value_or(embedding_type(*tensors))};
  target.copy_side_files();
  save_torch_dist(target.dir, from.manifest.iteration,
                  {pickle_common(common), extra_state_names(m), common_storage(common)}, all, target.saving);
  return i64(all.tensors().size());
}

// Family and token ids of the model's origin, if its family still fits. The tokenizer gives the ids that are missing
// there.
HfConfig hf_config_of(const AnyCheckpoint& from, const ConvertOptions& options) {
  HfConfig hf;
  const bool has_origin = !from.hf_config.empty();
  if (has_origin) hf = parse_hf_config(from.hf_config, "[hf] the config.json that " + from.path + " came from");
  hf.model = *from.model;
  hf.model.padded_vocab_size = 0;
  hf.dtype = options.type.value_or(embedding_type(*from.tensors));
  if (!options.family.empty())
    hf.family = &hf_family(options.family);
  else if (!has_origin)
    hf.family = &choose_hf_family(hf.model);
  if (hf.bos_token_ids.empty()) hf.bos_token_ids = options.bos_token_ids;
  if (hf.eos_token_ids.empty()) hf.eos_token_ids = options.eos_token_ids;
  if (hf.pad_token_ids.empty()) hf.pad_token_ids = options.pad_token_ids;
  if (!hf.decoder_start) hf.decoder_start = options.decoder_start;
  return hf;
}

i64 write_hf(const AnyCheckpoint& from, const Target& target, const ConvertOptions& options) {
  SideFiles files = target.side_files;
  const HfExportOptions shards{.type = options.type,
                               .max_shard_bytes = options.max_shard_bytes,
                               .still_ours = target.saving.still_ours,
                               .before_config = [&] { place_side_files(files, target.dir); }};
  if (from.foreign()) {
    check_copied_as_is(options);
    export_hf_as_is(target.dir, from.hf_config, *from.tensors, shards);
    return i64(from.tensors->tensors().size());
  }
  const HfConfig hf = hf_config_of(from, options);
  if (!files.has(kGenerationConfig)) files.made.emplace(kGenerationConfig, write_generation_config(hf));
  export_hf(target.dir, hf, from.tensors, shards);
  return i64(hf_written_mapping(*hf.family, hf.model).theirs.size());
}

// Creates the output directory. If it is empty at the end, for example after a refusal, it is removed.
class MadeDirectories {
 public:
  explicit MadeDirectories(const std::string& dir) {
    for (fs::path at = canonical_path(dir); !fs::exists(at); at = at.parent_path()) made_.push_back(at);
    make_directories(dir, {});
  }
  ~MadeDirectories() {
    std::error_code error;
    for (const fs::path& at : made_)
      if (!fs::remove(at, error)) break;
  }
  MadeDirectories(const MadeDirectories&) = delete;

 private:
  std::vector<fs::path> made_;  // the innermost first
};

}  // namespace

i64 convert_checkpoint(const AnyCheckpoint& from, CkptFormat to, const std::string& dir,
                       const ConvertOptions& options) {
  check(to != CkptFormat::torch,
        "checkpoints of format torch are only read: write torch_dist, which Megatron-LM loads");
  check(to != CkptFormat::native || !options.with_optimizer || !from.has_optimizer() ||
            options.type.value_or(DType::f32) == DType::f32,
        "--dtype {} would cut the main values that the optimizer's state belongs to: leave it out, or give "
        "--no-load-optim",
        name_of(options.type.value_or(DType::f32)));
  check_types(from);
  check_no_checkpoint_around(dir, dir);
  const MadeDirectories made(dir);
  const SaveLock lock(dir);
  SaveOptions saving;
  saving.still_ours = [&lock] { lock.check_held(); };
  if (to != CkptFormat::hf) {
    // A directory of checkpoints belongs to a run, which resumes from the newest. It would take another one among
    // them for its own.
    const std::vector<FoundCheckpoint> there = list_checkpoints(dir);
    check(!has_checkpoint(dir), "{} already exists: choose another directory or remove it",
          there.empty() ? dir + "/" + kLatestFile : there.back().path);
  }
  if (options.with_optimizer && to != CkptFormat::hf && !from.state_problem.empty())
    log::warn("[load] {}: {}; only weights are converted", from.path, from.state_problem);
  Target target{dir, saving, find_side_files(options.asset_dirs, from.manifest.config_json)};
  target.side_files.made = options.made_files;
  return to == CkptFormat::native       ? write_native(from, target, options)
         : to == CkptFormat::torch_dist ? write_torch_dist(from, target, options)
                                        : write_hf(from, target, options);
}

}  // namespace megalith
