#include "search/stage_texts.h"

namespace megalith::search {

const std::string& StageTexts::of(const Choice& c) {
  static const std::string none;
  if (!c.balanced) return none;
  const Options o = with(base_, c);
  const auto [it, is_new] = known_.try_emplace({c.pp * c.vpp, o.model.padded_vocab_size});
  if (!is_new) return it->second;
  std::string text = "E";
  bool first = true;
  for (const i64 layers : balanced_layers(o.parallel, o.model)) {
    text += first ? "" : "|", first = false;
    text += std::string(size_t(layers), 't');
  }
  return it->second = text + "L";
}

}  // namespace megalith::search
