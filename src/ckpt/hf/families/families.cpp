#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/check.h"
#include "ckpt/hf/families/family.h"

namespace megalith {

#define FAMILY(name) extern const HfFamily k_##name;
#include "ckpt/hf/families/families.def"
#undef FAMILY

std::span<const HfFamily* const> hf_families() {
  static constexpr const HfFamily* kAll[] = {
#define FAMILY(name) &k_##name,
#include "ckpt/hf/families/families.def"
#undef FAMILY
  };
  return kAll;
}

const HfFamily& hf_family(std::string_view model_type) {
  std::vector<std::string_view> ours;
  for (const HfFamily* family : hf_families()) {
    if (family->name == model_type) return *family;
    ours.push_back(family->name);
  }
  fail("[hf] unknown model type \"{}\"; we have {}", model_type, fmt::join(ours, ", "));
}

}  // namespace megalith
