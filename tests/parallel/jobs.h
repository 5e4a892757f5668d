// Training runs on subsets of the ranks, several at the same time, and their results.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "comm/ranks.h"
#include "tests/parallel/layouts.h"

namespace megalith::parity {

struct Job {
  std::string name;
  std::string flags;    // without the common flags of options_of()
  int size = 1;         // ranks
  std::string fault{};  // a kind of relayout; the run omits one of this kind
  std::string plan{};   // if not empty: the step is planned once for all jobs with the same text
};

// The results of a run, from its metrics file.
struct Outcome {
  std::vector<double> losses, norms;                 // per step
  std::map<std::string, std::vector<double>> terms;  // other terms of the loss, by name
  std::vector<double> scales, skipped;               // per step: the loss scale, and 1 if it was skipped
  std::vector<double> validation;                    // per evaluation
  std::vector<u64> state;                            // per rank: a hash of parameters and optimizer state
  double seconds = 0;
};

// Runs all jobs, several side by side. All ranks must call it. Each rank gets the outcomes of all jobs.
std::vector<Outcome> run_jobs(Ranks& ranks, const std::vector<Job>& jobs, const std::string& folder);

// The largest relative difference of losses, of other loss terms, of gradient norms and of validation losses. It is
// infinite if a value is missing or not finite.
struct Distance {
  double loss = 0, terms = 0, norm = 0, validation = 0;
  double worst() const;
};
Distance distance(const Outcome& a, const Outcome& b);

}  // namespace megalith::parity
