#include "ckpt/torch/torch_legacy.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/check.h"
#include "ckpt/torch/legacy_experts.h"
#include "ckpt/torch/legacy_ranks.h"
#include "ckpt/torch/megatron_args.h"
#include "ckpt/torch/megatron_mapping.h"
#include "ckpt/torch/rank_parts.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFirstFile = 0;

// One tensor of all ranks' parts, each in its own file.
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

// The parameters of each chunk that an optimizer updates. In a chain of two the first has all but experts, the second
// has these.
std::vector<RankParams> updated_by(const std::vector<RankModel*>& chunks, std::optional<bool> experts) {
  std::vector<RankParams> out;
  for (RankModel* chunk : chunks) {
    RankParams& params = out.emplace_back();
    for (RankParam& p : *chunk)
      if (!p.name.ends_with(kRouterBias) && (!experts || is_of_expert(p.name) == *experts)) params.push_back(&p);
  }
  return out;
}

// f(optimizer, what it updates) for each of a chain, or for the one. A rank that is not the first of the expert ranks
// has no state of the others' parameters in distrib_optim.pt.
template <class F>
void for_optimizers(const PickleValue& state, const std::vector<RankModel*>& chunks, F&& f) {
  const auto* chain = state.sequence();
  if (chain == nullptr) return f(state, updated_by(chunks, std::nullopt));
  want(chain->size() == 2, "it is of {} optimizers, and only experts have one of their own", chain->size());
  for (const bool experts : {false, true})
    if (const PickleValue& own = *(*chain)[experts ? 1 : 0]; !own.is_none()) f(own, updated_by(chunks, experts));
}

// The optimizer's state of a rank's part, if there is one.
void add_state(LegacyParams& collector, const std::string& place, const RankFile& model,
               const std::vector<RankModel*>& chunks, i64 stage, i64 last_stage) {
  const std::string path = place + "/distrib_optim.pt";
  const PickleValue* args = model.file.root().find("args");
  const PickleValue* optimizer = model.file.root().find("optimizer");
  if (args == nullptr || optimizer == nullptr || optimizer->is_none()) return;
  if (!fs::exists(path)) {
    if (flag(*args, "use_distributed_optimizer")) throw UnplacedState(path + " is missing");
    return for_optimizers(*optimizer, chunks, [&](const PickleValue& own, const std::vector<RankParams>& params) {
      add_grouped_state(model, own, params);
    });
  }
  std::size_t number = 0;
  const auto file = collector.open(path, number);
  const bool tied = !flag(*args, "untie_embeddings_and_output_weights");
  const RankPlace rank{.first_stage = stage == 0,
                       .last_stage = stage == last_stage,
                       .shared_embedding = tied && last_stage > 0,
                       .bucket_size = stage == 0 ? bucket_size_of(*args) : 0};
  for_optimizers(file->root(), chunks, [&](const PickleValue& own, const std::vector<RankParams>& params) {
    add_bucketed_state({*file, number}, own, rank, params);
  });
}

// A parameter and, if wanted, its state.
void add_param(TensorStore& store, const std::string& name, const LegacyParams::Parts& parts, const RankParts& cut,
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
  const std::map<LegacyRank, std::string> places = legacy_folders(dir);
  const LegacyRank last = places.rbegin()->first;  // the folders of all ranks exist
  const i64 ranks = last.tensor + 1;
  LegacyExperts experts;
  LegacyParams collector(dir, *store_, *sums_);
  for (const auto& [rank, place] : places) {
    std::size_t number = 0;
    auto file = collector.open(place + kLegacyFile, number);
    if (const PickleValue* args = file->root().find("args"); args != nullptr && !common_)
      experts = LegacyExperts(*args, ranks, last.expert + 1);
    const std::vector<RankModel*> chunks = collector.read(rank, {*file, number}, experts);
    if (state_problem_.empty()) try {
        add_state(collector, place, {*file, number}, chunks, rank.pipeline, last.pipeline);
      } catch (const UnplacedState& e) {  // unlike the exception of a damaged file
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

// In the groups' settings. PyTorch's own Adam has it as a tensor next to each parameter's moments.
std::optional<i64> TorchLegacy::optimizer_steps() const {
  const PickleValue* optimizer = common().find("optimizer");
  const auto steps = megalith::optimizer_steps(optimizer);
  if (steps || optimizer == nullptr) return steps;
  optimizer = &first_optimizer(*optimizer);
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
  return directory_has(dir, [](const std::string& name) { return name.starts_with("mp_rank_"); });
}

}  // namespace megalith
