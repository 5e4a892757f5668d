#include "tests/parallel/ahead.h"

#include "tests/parallel/layouts.h"
#include "tests/parallel/saved.h"

namespace megalith::parity {
namespace {

// With pools of 4000 elements, so that there are several.
const char* const kAhead[] = {"dp4 micro2 llama",
                              "dp4 untied documents",
                              "tp2 dp2 sp again-layers both-drop",
                              "cp2 dp2 neox",
                              "cp4-a2a qwen",
                              "pp2 dp2 untied",
                              "pp2-vp2 dp2 hidden-drop",
                              "pp2-vp2-zb dp2 again-parts",
                              "tp2 cp2 dp2 sp llama groups2"};

}  // namespace

// A run without and one with it, each saving in the middle; one with it goes on from what the first saved, and so the
// other way round. And a run whose steps stop counting: their loss is not finite.
int ahead(const Hall& at) {
  const std::string plain = " --use-distributed-optimizer --ddp-bucket-size 4000 --save-interval 5";
  const std::string beside = plain + " --overlap-grad-reduce --overlap-param-gather";
  std::vector<Job> whole, rests;
  const auto saved = [&](size_t i) { return fmt::format("{}/ahead-{}", at.folder, i); };
  const auto add = [&](const std::string& words, const std::string& more) {
    const Layout l = layout_of(words);
    for (const std::string& way : {plain, beside})
      whole.push_back({l.name + more, l.model + l.ranks + way + more + " --save " + saved(whole.size()), l.size});
    const size_t last = whole.size() - 1;
    const std::string from = more + " --ckpt-step 5 --load ";
    rests.push_back({l.name + more, l.model + l.ranks + beside + from + saved(last - 1), l.size});
    rests.push_back({l.name + more, l.model + l.ranks + plain + from + saved(last), l.size});
  };
  for (const char* words : kAhead) add(words, "");
  add("dp4 llama", " --bf16"), add("pp2 dp2", " --bf16"), add("dp2", " --lr 1e30");
  const std::vector<Outcome> outcomes = run_jobs(at.ranks, whole, at.folder),
                             ends = run_jobs(at.ranks, rests, at.folder);
  int bad = 0;
  for (size_t i = 0; i < whole.size(); i += 2) {
    const bool counts = whole[i].name.find("1e30") == std::string::npos;
    const bool same = counts ? same_bits(outcomes[i], outcomes[i + 1]) : outcomes[i].state == outcomes[i + 1].state;
    // (The zeros between a pool's members, which no checkpoint has, have other signs after a step at such a rate.)
    const bool resumes = !counts || (ends[i].state == outcomes[i].state && ends[i + 1].state == outcomes[i].state);
    int tensors = 0;
    for (const char* step : {"/iter_0000005", "/iter_0000010"})
      if (at.ranks.rank() == 0) tensors += differing_tensors(saved(i) + step, saved(i + 1) + step);
    const bool good = same && resumes && tensors == 0;
    bad += !good;
    at.say("{}  {} ranks  {}{}{} tensors differ  {}", good ? "ok  " : "FAIL", whole[i].size, same ? "same bits, " : "",
           resumes ? "resumes to them, " : "", tensors, whole[i].name);
  }
  return bad;
}

}  // namespace megalith::parity
