#include "search/stage_texts.h"

#include <algorithm>

namespace megalith::search {

const StageTexts::Stages& StageTexts::stages_of(const Choice& c) {
  const std::pair key{c.tp, c.pp * c.vpp};
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  const Options o = with(base_, c);
  const std::vector<i64> layers = balanced_layers(o.parallel, o.model);
  Stages stages{"E", std::ranges::all_of(layers, [&](i64 n) { return n == layers.front(); })};
  for (size_t i = 0; i < layers.size(); ++i)
    stages.text += std::string(i ? "|" : "") + std::string(size_t(layers[i]), 't');
  stages.text += "L";
  return known_[key] = std::move(stages);
}

const std::string& StageTexts::of(const Choice& c) {
  static const std::string none;
  return c.balanced ? stages_of(c).text : none;
}

bool StageTexts::is_even(const Choice& c) {
  if (!c.balanced) return false;
  try {
    return stages_of(c).even;
  } catch (const Error&) {  // the rules report it
    return false;
  }
}

}  // namespace megalith::search
