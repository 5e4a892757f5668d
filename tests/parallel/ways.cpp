#include "tests/parallel/ways.h"

#include "tests/parallel/layouts.h"
#include "tests/parallel/saved.h"

namespace megalith::parity {

// Runs each layout in both ways, with a checkpoint at iteration 5. Then each way resumes from the checkpoint of the
// other.
int compare_ways(const Hall& at, const Ways& ways) {
  std::vector<Job> whole, rests;
  const auto saved = [&](size_t i) { return fmt::format("{}/{}-{}", at.folder, ways.name, i); };
  for (const auto& [words, more] : ways.runs) {
    const Layout l = layout_of(words);
    for (const std::string& way : {ways.plain, ways.other})
      whole.push_back(
          {l.name + more, l.model + l.ranks + way + more + " --save-interval 5 --save " + saved(whole.size()), l.size});
    const size_t last = whole.size() - 1;
    const std::string from = more + " --ckpt-step 5 --save-interval 5 --load ";
    rests.push_back({l.name + more, l.model + l.ranks + ways.other + from + saved(last - 1), l.size});
    rests.push_back({l.name + more, l.model + l.ranks + ways.plain + from + saved(last), l.size});
  }
  const std::vector<Outcome> outcomes = run_jobs(at.ranks, whole, at.folder),
                             ends = run_jobs(at.ranks, rests, at.folder);
  int bad = 0;
  for (size_t i = 0; i < whole.size(); i += 2) {
    const bool counts = whole[i].name.find("1e30") == std::string::npos;
    const bool same = counts ? same_bits(outcomes[i], outcomes[i + 1]) : outcomes[i].state == outcomes[i + 1].state;
    // With a learning rate of 1e30 resumed state is not compared. The padding zeros in buckets are not in checkpoints,
    // and their signs differ after a step.
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
