#include "cli/golden/routing.h"

namespace megalith {
namespace {

using Rows = std::optional<std::vector<float>>;

// `values` of each slot, at its expert. Rows of all experts stay unchanged.
std::vector<float> spread(const std::vector<float>& choice, const std::vector<float>& values, i64 slots, i64 experts) {
  if (slots == experts) return values;
  std::vector<float> out(choice.size() / size_t(slots) * size_t(experts));
  for (size_t i = 0; i < choice.size(); ++i)
    if (choice[i] >= 0 && choice[i] < float(experts))
      out[i / size_t(slots) * size_t(experts) + size_t(choice[i])] = values.at(i);
  return out;
}

i64 slots_of(const Type& type) { return type.dim(type.ndim() - 1); }

}  // namespace

Rows routing_map(const HeldModel& model, const std::string& program, const std::string& layer, i64 experts) {
  const std::string name = layer + ".choice";
  const Type* type = model.find_output(program, name);
  if (type == nullptr) return std::nullopt;
  const std::vector<float> choice = model.output(program, name);
  const i64 slots = slots_of(*type);
  const std::vector<float> ones(choice.size(), 1.0f);
  return spread(choice, slots == experts ? choice : ones, slots, experts);
}

Rows routing_probs(const HeldModel& model, const std::string& program, const std::string& layer, i64 experts) {
  const std::string name = layer + ".probs";
  const Type* type = model.find_output(program, name);
  if (type == nullptr) return std::nullopt;
  const i64 slots = slots_of(*type);
  std::vector<float> probs = model.output(program, name);
  if (slots == experts) return probs;
  if (model.find_output(program, layer + ".choice") == nullptr) return std::nullopt;
  return spread(model.output(program, layer + ".choice"), probs, slots, experts);
}

}  // namespace megalith
