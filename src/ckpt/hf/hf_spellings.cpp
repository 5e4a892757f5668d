// Names that tensors go by in files, beside those of the mapping.
#include <algorithm>

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
  if (name.starts_with(mapping.prefix)) return {name, name.substr(mapping.prefix.size())};
  return {name};
}

bool is_ignored_buffer(const std::string& name) {
  // Of DeepSeek-V3's modules of multi-token prediction: copies of the embedding and the head.
  if (name.find(".layers.") != std::string::npos &&
      (name.ends_with(".embed_tokens.weight") || name.ends_with(".shared_head.head.weight")))
    return true;
  for (const char* end :
       {".attn.bias", ".attn.masked_bias", ".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"})
    if (name.ends_with(end)) return true;
  return false;
}

}  // namespace megalith
