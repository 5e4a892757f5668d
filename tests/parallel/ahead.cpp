#include "tests/parallel/ahead.h"

#include "tests/parallel/ways.h"

namespace megalith::parity {

// Buckets have 4000 elements, so that there are several. The loss of the last run becomes non-finite, so its later
// steps are skipped.
int ahead(const Hall& at) {
  const std::string plain = " --use-distributed-optimizer --ddp-bucket-size 4000";
  return compare_ways(at, {.name = "ahead",
                           .plain = plain,
                           .other = plain + " --overlap-grad-reduce --overlap-param-gather",
                           .runs = {{"dp4 micro2 llama", ""},
                                    {"dp4 untied documents", ""},
                                    {"tp2 dp2 sp again-layers both-drop", ""},
                                    {"cp2 dp2 neox", ""},
                                    {"cp4-a2a qwen", ""},
                                    {"pp2 dp2 untied", ""},
                                    {"pp2-vp2 dp2 hidden-drop", ""},
                                    {"pp2-vp2-zb dp2 again-parts", ""},
                                    {"tp2 cp2 dp2 sp llama groups2", ""},
                                    {"dp4 llama", " --bf16"},
                                    {"pp2 dp2", " --bf16"},
                                    {"dp2", " --lr 1e30"}}});
}

}  // namespace megalith::parity
