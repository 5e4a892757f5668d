// Alternative names of tensors in files.
#include <algorithm>
#include <string_view>

#include "ckpt/hf/hf_mapping.h"

namespace megalith {

std::vector<std::string> hf_head_names() {
  std::vector<std::string> names;
  for (const HfFamily* family : hf_families()) {
    const std::string name = std::string(family->names({}).head) + ".weight";
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

std::vector<std::string> spellings(const HfMapping& mapping, const std::string& name) {
  if (name == mapping.head) {
    std::vector<std::string> all = {name};
    for (const std::string& other : hf_head_names())
      if (other != name) all.push_back(other);
    const std::size_t bare = all.size();
    for (std::size_t i = 0; i < bare; ++i) all.push_back(mapping.prefix + all[i]);
    return all;
  }
  std::vector<std::string> all = {name};
  if (name == kBertHeadBias) all.emplace_back(kBertBias);
  for (const auto& [now, old] :
       {std::pair(".LayerNorm.weight", ".LayerNorm.gamma"), {".LayerNorm.bias", ".LayerNorm.beta"}})
    if (name.ends_with(now)) all.push_back(name.substr(0, name.size() - std::string_view(now).size()) + old);
  const std::size_t full = all.size();
  for (std::size_t i = 0; i < full && name.starts_with(mapping.prefix); ++i)
    all.push_back(all[i].substr(mapping.prefix.size()));
  return all;
}

bool is_ignored_buffer(const std::string& name) {
  // Of BERT: the other name of the logits' bias, and numbers 0, 1, ...
  if (name.ends_with(kBertBias) || name.ends_with(kBertHeadBias) || name.ends_with("embeddings.position_ids"))
    return true;
  // Of DeepSeek-V3's modules of multi-token prediction: copies of the embedding and the head.
  if (name.find(".layers.") != std::string::npos &&
      (name.ends_with(".embed_tokens.weight") || name.ends_with(".shared_head.head.weight")))
    return true;
  // Of old files of T5: copies of the embedding, and a table that nothing reads.
  if (name == ".encoder.embed_tokens.weight" || name == ".decoder.embed_tokens.weight" ||
      name.ends_with(".EncDecAttention.relative_attention_bias.weight"))
    return true;
  for (const char* end :
       {".attn.bias", ".attn.masked_bias", ".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"})
    if (name.ends_with(end)) return true;
  return false;
}

}  // namespace megalith
