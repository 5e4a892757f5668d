#include "ckpt/torch/torch_legacy.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/check.h"
#include "base/parse_count.h"
#include "ckpt/torch/legacy_optimizer.h"
#include "ckpt/torch/megatron_args.h"
#include "ckpt/torch/megatron_mapping.h"
#include "ckpt/torch/rank_parts.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRankFolder = "mp_rank_";
constexpr std::string_view kLegacyLayers = "decoder.layers.";
constexpr int kMaxDictDepth = 8;           // of nested dicts
constexpr i64 kMaxEntries = i64{1} << 20;  // of all a model's dicts, of which a file may name one many times
constexpr std::size_t kFirstFile = 0;

struct Rank {
  i64 tensor = 0, pipeline = 0;
  auto operator<=>(const Rank&) const = default;
};

std::optional<i64> read_number(std::string_view text) {
  const auto value = parse_count(text);
  return value < 100000 ? value : std::nullopt;
}

// mp_rank_TT or mp_rank_TT_PPP.
std::optional<Rank> read_rank(const std::string& name, const std::string& dir) {
  if (!name.starts_with(kRankFolder)) return std::nullopt;
  const std::string rest = name.substr(kRankFolder.size());
  const auto bar = rest.find('_');
  const auto tensor = read_number(rest.substr(0, bar));
  const auto pipeline = bar == std::string::npos ? std::optional<i64>(0) : read_number(rest.substr(bar + 1));
  check(tensor && pipeline, "[load] {}/{}: only tensor and pipeline ranks are read, mp_rank_TT or mp_rank_TT_PPP", dir,
        name);
  return Rank{*tensor, *pipeline};
}

// "decoder.layers.3.mlp..." -> 3.
std::optional<i64> layer_of(const std::string& name) {
  if (!name.starts_with(kLegacyLayers)) return std::nullopt;
  const std::string rest = name.substr(kLegacyLayers.size());
  return read_number(rest.substr(0, rest.find('.')));
}

std::string renumber(const std::string& name, i64 layer) {
  const auto dot = name.find('.', kLegacyLayers.size());
  return fmt::format("{}{}{}", kLegacyLayers, layer, name.substr(dot));
}

// The parameters of all files by canonical name, with layers numbered as in the model.
class Collector {
 public:
  using Parts = std::map<i64, RankParam>;  // by tensor rank

  Collector(const std::string& dir, TensorStore& store, ArchiveSums& sums) : dir_(dir), store_(store), sums_(sums) {}

  std::unique_ptr<TorchFile> open(const std::string& path, std::size_t& number);
  // The chunks of a rank's file: "model", or "model0", "model1", ... with virtual stages.
  std::vector<RankModel*> read(const Rank& rank, const RankFile& file);
  bool is_pipelined() const { return chunks_.size() > 1; }
  std::map<std::string, Parts> finish() const;

 private:
  struct Found {
    RankModel& model;
    i64 entries = 0;
    std::set<std::string> names{};
  };
  void flatten(const RankFile& file, const PickleValue& value, const std::string& name, int depth, Found& found) const;

  const std::string& dir_;
  TensorStore& store_;
  ArchiveSums& sums_;
  // By model chunk (virtual stage, pipeline rank), which is the order of the layers, then tensor rank.
  std::map<std::pair<i64, i64>, std::map<i64, RankModel>> chunks_;
};

void Collector::flatten(const RankFile& file, const PickleValue& value, const std::string& name, int depth,
                        Found& found) const {
  check(depth < kMaxDictDepth, "{}: its model is nested too deep", file.file.zip().where());
  value.for_entries([&](const PickleValue& key, const PickleValue& item) {
    check(++found.entries <= kMaxEntries, "{}: its model has more than {} entries", file.file.zip().where(),
          kMaxEntries);
    if (key.kind != PickleValue::Kind::text || key.text.ends_with("_extra_state")) return;
    const std::string full = name.empty() ? key.text : name + "." + key.text;
    if (item.is_dict()) return flatten(file, item, full, depth + 1, found);
    auto tensor = file.file.tensor(item, full);
    if (!tensor) return;
    // An encoder and a decoder, say: only one of them would be read.
    const std::string known = canonical_megatron_name(full);
    check(found.names.insert(known).second, "{}: its model has {} twice", file.file.zip().where(), known);
    found.model.push_back({known, {std::move(*tensor), file.number}});
  });
}

std::unique_ptr<TorchFile> Collector::open(const std::string& path, std::size_t& number) {
  check(fs::exists(path), "[load] {} is missing", path);
  number = store_.add_file(path);
  auto file = std::make_unique<TorchFile>(FileRange(store_.file(number)), "[load] " + path);
  sums_.add(file->zip());
  return file;
}

std::vector<RankModel*> Collector::read(const Rank& rank, const RankFile& file) {
  std::vector<RankModel*> chunks;
  for (i64 stage = -1; stage < 1000; ++stage) {
    const PickleValue* model = file.file.root().find(stage < 0 ? "model" : "model" + std::to_string(stage));
    if (model == nullptr && stage >= 0) break;
    if (model == nullptr) continue;
    RankModel& chunk = chunks_[{std::max<i64>(stage, 0), rank.pipeline}][rank.tensor];
    Found found{chunk};
    flatten(file, *model, "", 0, found);
    chunks.push_back(&chunk);
  }
  check(!chunks.empty(), "{} holds no model", file.file.zip().where());
  return chunks;
}

std::map<std::string, Collector::Parts> Collector::finish() const {
  std::map<std::string, Parts> all;
  i64 first_layer = 0;
  for (const auto& [chunk, ranks] : chunks_) {
    std::set<i64> layers;
    for (const auto& [rank, params] : ranks)
      for (const RankParam& p : params) {
        const auto layer = layer_of(p.name);
        if (layer) layers.insert(*layer);
        // A stage's copy of what an earlier one has (a tied embedding) is not taken again.
        all[layer ? renumber(p.name, first_layer + *layer) : p.name].emplace(rank, p);
      }
    const i64 last = layers.empty() ? -1 : *layers.rbegin();
    check(last + 1 == i64(layers.size()), "[load] {}: a stage has layers up to {}, not {}", dir_, last, layers.size());
    first_layer += last + 1;
  }
  return all;
}

// One tensor of what the ranks hold, each in its file.
void add_joined(TensorStore& store, const std::string& name, const std::map<i64, const RankTensor*>& parts,
                const RankParts& cut, i64 ranks) {
  const TorchTensor& first = parts.begin()->second->tensor;
  const std::string what = fmt::format("[load] {}: tensor {}", store.where(), name);
  check(!cut.is_cut() || i64(parts.size()) == ranks, "{} is in {} of {} tensor ranks' files", what, parts.size(),
        ranks);
  const Shape whole = cut.whole(first.shape, what);
  std::vector<StoredBox> boxes;
  for (const auto& [rank, part] : parts) {
    const TorchTensor& t = part->tensor;
    check(t.shape == first.shape && t.type == first.type, "{} has shapes {} and {}", what, to_string(first.shape),
          to_string(t.shape));
    cut.place({.offset = Shape(t.shape.size(), 0),
               .shape = t.shape,
               .strides = t.strides,
               .file = part->file,
               .position = t.position,
               .swapped = t.swapped},
              rank, t.shape, size_of(t.dtype()), boxes);
    if (!cut.is_cut()) break;
  }
  store.add_tensor({name, first.dtype(), whole}, std::move(boxes));
}

bool flag(const PickleValue& args, std::string_view name) {
  const PickleValue* v = args.find(name);
  return v != nullptr && v->kind == PickleValue::Kind::boolean && v->integer != 0;
}

i64 size_in(const PickleValue& args, std::string_view name) {
  const PickleValue* v = args.find(name);
  return v != nullptr && v->kind == PickleValue::Kind::integer ? std::max<i64>(0, v->integer) : 0;
}

// Elements that Megatron fills a bucket with, on the first pipeline rank; 0: all in one.
i64 bucket_size_of(const PickleValue& args) {
  if (!flag(args, "overlap_grad_reduce")) return 0;
  if (const i64 given = size_in(args, "ddp_bucket_size"); given > 0) return given;
  const i64 ranks = size_in(args, "data_parallel_size") * std::max<i64>(1, size_in(args, "context_parallel_size"));
  return std::max<i64>(40'000'000, 1'000'000 * ranks);
}

// The optimizer's state of what a rank holds, if there is one.
void add_state(Collector& collector, const std::string& place, const RankFile& model,
               const std::vector<RankModel*>& chunks, i64 stage, i64 last_stage) {
  const std::string path = place + "/distrib_optim.pt";
  const PickleValue* args = model.file.root().find("args");
  const PickleValue* optimizer = model.file.root().find("optimizer");
  if (args == nullptr || optimizer == nullptr || optimizer->is_none()) return;
  if (!fs::exists(path)) {
    if (flag(*args, "use_distributed_optimizer")) throw UnplacedState(path + " is missing");
    return add_grouped_state(model, *optimizer, chunks);
  }
  std::size_t number = 0;
  const auto file = collector.open(path, number);
  const bool tied = !flag(*args, "untie_embeddings_and_output_weights");
  const RankPlace rank{.first_stage = stage == 0,
                       .last_stage = stage == last_stage,
                       .shared_embedding = tied && last_stage > 0,
                       .bucket_size = stage == 0 ? bucket_size_of(*args) : 0};
  add_bucketed_state({*file, number}, rank, chunks);
}

// A parameter and, if wanted, its state.
void add_param(TensorStore& store, const std::string& name, const Collector::Parts& parts, const RankParts& cut,
               i64 ranks, bool with_state) {
  std::map<i64, const RankTensor*> weights;
  for (const auto& [rank, p] : parts) weights[rank] = &p.weight;
  add_joined(store, name, weights, cut, ranks);
  for (std::size_t k = 0; with_state && k < std::size(kStateKinds); ++k) {
    std::map<i64, const RankTensor*> state;
    for (const auto& [rank, p] : parts)
      if (p.state[k]) state[rank] = &*p.state[k];
    if (state.size() == parts.size())
      add_joined(store, fmt::format("{}{}.{}", kMegatronState, kStateKinds[k], name), state, cut, ranks);
  }
}

}  // namespace

TorchLegacy::TorchLegacy(const std::string& dir, bool past_cache)
    : store_(std::make_shared<TensorStore>(dir, past_cache)), sums_(std::make_shared<ArchiveSums>(store_)) {
  std::map<Rank, std::string> places;
  for (const std::string& name : list_directory(dir))
    if (const auto rank = read_rank(name, dir)) places[*rank] = (fs::path(dir) / name).string();
  check(!places.empty(), "[load] {} holds no mp_rank_* directory", dir);
  Rank last;
  for (const auto& [rank, path] : places)
    last = {std::max(last.tensor, rank.tensor), std::max(last.pipeline, rank.pipeline)};
  const i64 ranks = last.tensor + 1;
  check(i64(places.size()) == ranks * (last.pipeline + 1), "[load] {} has files of {} of {} x {} ranks", dir,
        places.size(), ranks, last.pipeline + 1);
  Collector collector(dir, *store_, *sums_);
  for (const auto& [rank, place] : places) {
    std::size_t number = 0;
    auto file = collector.open(place + "/model_optim_rng.pt", number);
    const std::vector<RankModel*> chunks = collector.read(rank, {*file, number});
    if (state_problem_.empty()) try {
        add_state(collector, place, {*file, number}, chunks, rank.pipeline, last.pipeline);
      } catch (const UnplacedState& e) {  // and not what a damaged file raises
        state_problem_ = e.what();
      }
    if (!common_) common_ = std::move(file);
  }
  check_version(common(), dir, 0);
  const PickleValue* args = common().find("args");
  check(args != nullptr, "[load] {} holds no arguments", dir);
  // The last stage's copy of a tied embedding.
  const bool copied = collector.is_pipelined() && !flag(*args, "untie_embeddings_and_output_weights");
  const bool gated = flag(*args, "swiglu") || flag(*args, "quick_geglu") || flag(*args, "gated_linear_unit");
  for (const auto& [name, parts] : collector.finish())
    if (!(copied && name == "output_layer.weight"))
      add_param(*store_, name, parts, RankParts(name, ranks, gated), ranks, state_problem_.empty());
}

// In the groups' settings; PyTorch's own Adam has it as a tensor beside each parameter's moments.
std::optional<i64> TorchLegacy::optimizer_steps() const {
  const PickleValue* optimizer = common().find("optimizer");
  const auto steps = megalith::optimizer_steps(optimizer);
  if (steps || optimizer == nullptr) return steps;
  const PickleValue* inner = optimizer->find("optimizer");
  const PickleValue* states = (inner == nullptr ? optimizer : inner)->find("state");
  if (states == nullptr || !states->is_dict() || states->items.empty()) return std::nullopt;
  const PickleValue* step = states->items[1]->find("step");
  if (step == nullptr) return std::nullopt;
  if (step->kind == PickleValue::Kind::integer || step->kind == PickleValue::Kind::real)
    return pickle_count(step, "[megatron] the optimizer's step");
  const auto t = common_->tensor(*step);
  if (!t || t->type != "float32" || count(t->shape) != 1 || t->swapped) return std::nullopt;
  float value = 0;
  store_->file(kFirstFile).read(t->position, std::as_writable_bytes(std::span(&value, 1)));
  const bool counts = value >= 0 && value < 1e15F;  // its checksum has not been compared yet
  return counts ? std::optional(i64(value)) : std::nullopt;
}

bool is_torch_legacy(const std::string& dir) {
  return directory_has(dir, [](const std::string& name) { return name.starts_with(kRankFolder); });
}

}  // namespace megalith
