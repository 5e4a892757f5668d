#include "ckpt/torch/legacy_optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "ckpt/torch/buckets.h"
#include "mesh/block_copy.h"

namespace megalith {
namespace {

using Kind = PickleValue::Kind;

const std::vector<const PickleValue*>& list_of(const PickleValue* v, const char* what) {
  want(v != nullptr && v->sequence() != nullptr, "its optimizer has no list of {}", what);
  return *v->sequence();
}

std::map<i64, const PickleValue*> by_number(const PickleValue* dict, const char* what) {
  want(dict != nullptr && dict->is_dict(), "its optimizer has no dict of {}", what);
  std::map<i64, const PickleValue*> out;
  dict->for_entries([&](const PickleValue& key, const PickleValue& value) {
    if (key.kind == Kind::integer) out[key.integer] = &value;
  });
  return out;
}

RankTensor state_tensor(const RankFile& from, const PickleValue* v, const RankParam& p, const char* kind) {
  std::optional<TorchTensor> t = v == nullptr ? std::nullopt : from.file.tensor(*v, p.name);
  want(t.has_value(), "it has no {} of {}", kind, p.name);
  want(t->shape == p.weight.tensor.shape, "its {} of {} has shape {}, the weight {}", kind, p.name, to_string(t->shape),
       to_string(p.weight.tensor.shape));
  return {std::move(*t), from.number};
}

// Megatron's groups: biases and vectors have no weight decay. The embedding and the output layer may have a separate
// learning rate.
struct Group {
  bool decays = true, decoupled = false;
  std::vector<const PickleValue*> numbers;  // of its parameters
};

bool is_set(const PickleValue* v) { return v != nullptr && v->kind == Kind::boolean && v->integer != 0; }

std::vector<Group> groups_of(const PickleValue* list) {
  std::vector<Group> groups;
  for (const PickleValue* g : list_of(list, "param_groups")) {
    const PickleValue* decay = g->find("wd_mult");
    want(decay != nullptr && (decay->kind == Kind::real || decay->kind == Kind::integer),
         "its optimizer's groups don't say wd_mult");
    groups.push_back({(decay->kind == Kind::real ? decay->real : double(decay->integer)) != 0,
                      is_set(g->find("is_decoupled_lr")), list_of(g->find("params"), "a group's params")});
  }
  return groups;
}

RankParams members(const RankParams& params, const Group& group, bool any_decoupled) {
  RankParams out;
  for (RankParam* p : params) {
    const bool vector = p->weight.tensor.shape.size() == 1 || p->name.ends_with(".bias");
    const bool table = p->name.ends_with("word_embeddings.weight") || p->name.ends_with("output_layer.weight");
    if (vector != group.decays && (!any_decoupled || table == group.decoupled)) out.push_back(p);
  }
  return out;
}

// The buffer's parameters, and those with their own bucket in Megatron.
std::vector<BucketParam> bucket_params(const RankParams& model, const RankPlace& place, bool first, bool last) {
  std::vector<BucketParam> params;
  for (const RankParam* param : model) {
    const RankParam& p = *param;
    const bool shared = (first && place.first_stage && p.name.ends_with("word_embeddings.weight")) ||
                        (last && place.last_stage && p.name.ends_with("output_layer.weight"));
    params.push_back({count(p.weight.tensor.shape), place.shared_embedding && shared});
  }
  return params;
}

// The first elements of the parameters in a buffer whose buckets follow each other without their padding.
std::vector<i64> starts_in(const std::vector<BucketParam>& params, i64 bucket_size, i64 elements) {
  for (const i64 least : {bucket_size, i64{0}}) {
    const BucketLayout layout =
        lay_out_buckets(params, [&](std::size_t, i64 size) { return least > 0 && size >= least; });
    if (std::accumulate(layout.sizes.begin(), layout.sizes.end(), i64{0}) != elements) continue;
    std::vector<i64> begins(layout.sizes.size() + 1), starts;
    std::partial_sum(layout.sizes.begin(), layout.sizes.end(), begins.begin() + 1);
    for (const BucketPlace& p : layout.places) starts.push_back(begins[p.bucket] + p.start);
    return starts;
  }
  const i64 sum =
      std::accumulate(params.begin(), params.end(), i64{0}, [](i64 n, const BucketParam& p) { return n + p.elements; });
  throw UnplacedState(
      fmt::format("its buffer has {} elements, which the {} of the model's parameters don't make", elements, sum));
}

}  // namespace

void add_grouped_state(const RankFile& model, const PickleValue& optimizer, const std::vector<RankParams>& chunks) {
  RankParams params;
  for (const RankParams& chunk : chunks) params.insert(params.end(), chunk.begin(), chunk.end());
  const PickleValue* mains = optimizer.find("fp32_from_fp16_params");
  const PickleValue* inner = mains == nullptr ? &optimizer : optimizer.find("optimizer");
  want(inner != nullptr && inner->is_dict(), "its optimizer is none of Megatron's that are read");
  const std::vector<Group> groups = groups_of(inner->find("param_groups"));
  const auto state = by_number(inner->find("state"), "states");
  const bool any_decoupled = std::ranges::any_of(groups, &Group::decoupled);
  std::size_t placed = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const RankParams members_of = members(params, groups[g], any_decoupled);
    want(members_of.size() == groups[g].numbers.size(),
         "its group {} has {} parameters, by its settings {} belong there", g, groups[g].numbers.size(),
         members_of.size());
    const std::vector<const PickleValue*>* main = nullptr;
    if (mains != nullptr) {
      const auto& lists = list_of(mains, "fp32_from_fp16_params");
      want(lists.size() == groups.size(), "it has {} lists of main values for {} groups", lists.size(), groups.size());
      main = &list_of(lists[g], "main values");
      want(main->size() == members_of.size(), "its group {} has {} main values for {} parameters", g, main->size(),
           members_of.size());
    }
    for (std::size_t i = 0; i < members_of.size(); ++i, ++placed) {
      RankParam& p = *members_of[i];
      const auto found = state.find(pickle_integer(groups[g].numbers[i], "[load] a parameter's number"));
      want(found != state.end(), "it has no state of {}", p.name);
      if (main != nullptr) p.state[0] = state_tensor(model, (*main)[i], p, "main value");
      for (std::size_t k : {1, 2})
        p.state[k] = state_tensor(model, found->second->find(kStateKinds[k]), p, kStateKinds[k]);
    }
  }
  want(placed == params.size(), "its groups have {} of {} parameters", placed, params.size());
}

void add_bucketed_state(const RankFile& from, const PickleValue& root, const RankPlace& place,
                        const std::vector<RankParams>& chunks) {
  want(root.is_dict(), "its distrib_optim.pt is of several optimizers");
  want(is_set(root.find("buckets_coalesced")), "its distrib_optim.pt is in the form of before February 2024");
  const auto buffers = by_number(&root, "buffers");
  want(buffers.size() == chunks.size(),
       "its distrib_optim.pt has {} buffers for {} model chunks: parameters of several "
       "types are not read",
       buffers.size(), chunks.size());
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const PickleValue* buffer = nullptr;
    const PickleValue& types = *std::next(buffers.begin(), i64(c))->second;
    want(types.is_dict() && types.items.size() == 2, "its distrib_optim.pt has parameters of several types");
    buffer = types.items[1];
    const PickleValue* unpadded = buffer->find("numel_unpadded");
    const auto params = bucket_params(chunks[c], place, c == 0, c + 1 == chunks.size());
    std::vector<i64> starts;
    for (std::size_t k = 0; k < std::size(kStateKinds); ++k) {
      const PickleValue* v = buffer->find(kStateKinds[k]);
      const auto t = v == nullptr ? std::nullopt : from.file.tensor(*v, kStateKinds[k]);
      want(t && t->shape.size() == 1 && t->strides[0] == 1, "its distrib_optim.pt has no flat {}", kStateKinds[k]);
      const i64 elements = unpadded && unpadded->kind == Kind::integer ? unpadded->integer : t->shape[0];
      want(elements <= t->shape[0], "its {} has {} elements of {}", kStateKinds[k], t->shape[0], elements);
      if (k == 0) starts = starts_in(params, c == 0 ? place.bucket_size : 0, elements);
      for (std::size_t i = 0; i < params.size(); ++i) {
        RankTensor& part = chunks[c][i]->state[k].emplace(RankTensor{*t, from.number});
        part.tensor.shape = chunks[c][i]->weight.tensor.shape;
        part.tensor.strides = row_major_strides(part.tensor.shape);
        part.tensor.position += starts[i] * size_of(t->dtype());
      }
    }
  }
}

}  // namespace megalith
