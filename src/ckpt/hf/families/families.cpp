// The list of all Hugging Face families, and the search by model_type.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/check.h"
#include "ckpt/hf/families/family.h"

#define FAMILY(name)                   \
  namespace megalith::families::name { \
  extern const HfFamily family;        \
  }
#include "ckpt/hf/families/families.def"
#undef FAMILY

namespace megalith {

std::span<const HfFamily* const> hf_families() {
  static constexpr const HfFamily* kAll[] = {
#define FAMILY(name) &families::name::family,
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
