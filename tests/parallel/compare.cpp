#include "tests/parallel/compare.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "base/check.h"

namespace megalith::parity {

int compare(const Hall& at, const std::vector<Layout>& all) {
  std::vector<Job> jobs;
  std::map<std::string, size_t> references;  // by flags
  for (const Layout& l : all) jobs.push_back({l.name, l.model + l.ranks, l.size});
  for (const Layout& l : all)
    if (references.emplace(l.reference, jobs.size()).second)
      jobs.push_back({"reference:" + l.reference, l.reference, l.reference_size});
  const std::vector<Outcome> outcomes = run_jobs(at.ranks, jobs, at.folder);
  int bad = 0;
  double worst = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const Outcome& reference = outcomes[references.at(all[i].reference)];
    check(reference.losses.size() == kIterations && reference.validation.size() == 2, "reference:{}: has {} losses",
          all[i].reference, reference.losses.size());
    const Distance d = distance(outcomes[i], reference);
    const bool good = d.worst() <= kTolerance;
    bad += !good, worst = std::max(worst, d.worst());
    at.say("{} {:3}  {} ranks  loss {:.0e}  terms {:.0e}  norm {:.0e}  validation {:.0e}  {:4.1f} s  {}",
           good ? "ok  " : "FAIL", i + 1, all[i].size, d.loss, d.terms, d.norm, d.validation, outcomes[i].seconds,
           all[i].name);
  }
  at.say("{} layouts against {} references: {} differ by more than {}; the worst by {:.1e}", all.size(),
         references.size(), bad, kTolerance, worst);
  return bad;
}

// Rank 0 chooses the rows, which takes some time, and sends them to the other ranks.
int compare_matrix(const Hall& at, Kind kind, std::vector<Layout> more) {
  Matrix matrix;
  std::string names;
  if (at.ranks.rank() == 0) matrix = matrix_of_layouts(at.ranks.size(), kind, at.most_rows);
  for (const Layout& l : matrix.layouts) names += l.name + "\n";
  std::istringstream told(at.ranks.all_gather(names)[0]);
  for (std::string words; std::getline(told, words);) more.push_back(layout_of(words));
  const int bad = compare(at, more);
  at.say("pairs of values: {} covered, {} left out, {} that no layout on {} ranks can have", matrix.covered,
         matrix.left_out, matrix.impossible, at.ranks.size());
  static constexpr size_t kLeast[] = {60, 60, 24, 24, 8};  // indexed by Kind
  const size_t least = kLeast[size_t(kind)];
  check(more.size() >= least, "{} layouts: at least {} are wanted", more.size(), least);
  return bad;
}

}  // namespace megalith::parity
