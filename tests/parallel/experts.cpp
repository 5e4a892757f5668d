#include "tests/parallel/experts.h"

#include "tests/parallel/compare.h"

namespace megalith::parity {

namespace {

// Layouts with one kind of parallelism each.
const char* const kPlainExperts[] = {
    "dp2 ep2 eight",   "dp4 ep4 many",       "dp8 ep8 eight",           "dp4 ep2 distopt half",
    "tp2 eight",       "tp2 etp1 ep2 eight", "tp2 dp2 etp2 ep2 narrow", "dp2 etp2 few",
    "cp2 ep2 eight",   "cp4 ep4 many",       "pp2 mtp2 eight",          "pp2-zb mtp2 eight",
    "cp4 ep2 eight",   "dp2 ep2 one",        "dp2 ep2 parallel",        "dp2 ep2 behind",
    "pp4-zb mtp1 few", "tp2 mla eight",
};

// The expert capacity depends on the tokens of one rank. So the reference has the same sizes of tp and cp, and no other
// parallelism.
struct SameTokens {
  const char *layout, *reference;
};
const SameTokens kSameTokens[] = {
    {"tp2 dp4 etp1 ep8 cap-probs", "tp2 cap-probs"},
    {"tp2 dp2 ep2 pp2-vp2 distopt cap-position gated", "tp2 cap-position gated"},
    {"cp2 dp4 ep8 cap-pad aux", "cp2 cap-pad aux"},
    {"cp2 tp2 dp2 etp1 ep4 distopt-overlap again-moe cap-probs", "cp2 tp2 cap-probs"},
    {"cp2-ring pp2-zb dp2 ep2 mtp1 cap-position bias", "cp2 mtp1 cap-position bias"},
};

}  // namespace

int experts(const Hall& at) {
  std::vector<Layout> all;
  for (const char* words : kPlainExperts) all.push_back(layout_of(words));
  for (const SameTokens& pair : kSameTokens) {
    const Layout alone = layout_of(pair.reference);
    Layout l = layout_of(pair.layout);
    l.reference = alone.model + alone.ranks, l.reference_size = alone.size;
    all.push_back(l);
  }
  return compare_matrix(at, Kind::experts, std::move(all));
}

}  // namespace megalith::parity
