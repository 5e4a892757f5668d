#include "ckpt/torch/optimizer_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace megalith {
namespace {

constexpr i64 kStretch = 64;

// Stretches of a tensor, at both ends and evenly between; more of one that holds all layers.
i64 stretches_of(const Shape& shape) { return shape.size() > 2 ? 4 * shape[0] : 16; }

// The weight that a tensor is the main value of; "" if it is something else.
std::string weight_of(const std::string& name) {
  for (const char* kind : kMainKinds)
    if (const std::string prefix = fmt::format("{}{}.", kMegatronState, kind); name.starts_with(prefix))
      return name.substr(prefix.size());
  return "";
}

}  // namespace

bool has_state(const TensorReader& state, std::string_view kind, const std::vector<NamedShape>& weights) {
  const auto name = [&](const NamedShape& w) { return fmt::format("{}{}.{}", kMegatronState, kind, w.name); };
  const auto is_there = [&](const NamedShape& w) { return state.find(name(w)).has_value(); };
  if (std::ranges::none_of(weights, is_there)) return false;
  for (const NamedShape& w : weights) want(is_there(w), "it has no {}", name(w));
  return true;
}

std::vector<std::string> kinds_of_state(const TensorReader& state, std::string_view prefix,
                                        const std::vector<NamedShape>& weights) {
  std::set<std::string_view> names;
  for (const NamedShape& w : weights) names.insert(w.name);
  std::vector<std::string> kinds;
  std::map<std::string_view, std::set<std::string>> kinds_of;  // by weight
  for (const TensorSpec& t : state.tensors()) {
    const std::size_t end = t.name.find('.', prefix.size());
    if (!t.name.starts_with(prefix) || end == t.name.npos) continue;
    const std::string kind = t.name.substr(prefix.size(), end - prefix.size());
    const auto weight = names.find(std::string_view(t.name).substr(end + 1));
    if (weight == names.end() || std::ranges::find(kMainKinds, kind) != std::end(kMainKinds)) continue;
    if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
    kinds_of[*weight].insert(kind);
  }
  std::map<std::string, const std::set<std::string>*> together;
  for (const auto& [weight, of] : kinds_of)
    for (const std::string& kind : of) {
      const std::set<std::string>*& others = together[kind];
      if (!others || others->size() < of.size()) others = &of;
    }
  for (const NamedShape& w : weights) {
    const auto of = kinds_of.find(w.name);
    want(kinds.empty() || of != kinds_of.end(), "it has no state of {}", w.name);
    if (kinds.empty()) continue;
    for (const std::string& kind : *together[*of->second.begin()])
      want(of->second.contains(kind), "it has no {}{}.{}", prefix, kind, w.name);
  }
  return kinds;
}

void check_main_values(const TensorReader& weights, const TensorReader& state) {
  for (std::size_t i = 0; i < state.tensors().size(); ++i) {
    const TensorSpec& main = state.tensors()[i];
    const std::string name = weight_of(main.name);
    if (name.empty()) continue;
    const auto w = weights.find(name);
    want(w && weights.tensors()[*w].shape == main.shape, "it has main values of {}, which is no weight of that shape",
         name);
    const DType type = weights.tensors()[*w].dtype;
    const i64 elements = count(main.shape), n = std::min(kStretch, elements);
    const i64 stretches = std::min(stretches_of(main.shape), (elements + n - 1) / std::max<i64>(1, n));
    std::vector<std::byte> a(std::size_t(n * size_of(type))), b(a.size());
    for (i64 k = 0; k < stretches; ++k) {
      const i64 begin = stretches == 1 ? 0 : (elements - n) / (stretches - 1) * k;
      state.read_range_as(i, begin, n, type, a.data());
      weights.read_range(*w, begin, n, b.data());
      want(a == b, "its main values of {} are not the weights", name);
    }
  }
}

}  // namespace megalith
