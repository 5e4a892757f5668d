// Trainings on parts of the ranks, several at once, and what they come to.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "comm/ranks.h"
#include "tests/parallel/layouts.h"

namespace megalith::parity {

struct Job {
  std::string name;
  std::string flags;    // all but those of options_of()
  int size = 1;         // ranks
  std::string fault{};  // a kind of relayout of which one is left out
};

// By the metrics file that the run wrote.
struct Outcome {
  std::vector<double> losses, norms;                 // of each step
  std::map<std::string, std::vector<double>> terms;  // the loss's other terms, by name
  std::vector<double> scales, skipped;               // of each step: the loss scale, and 1 if it did not count
  std::vector<double> validation;                    // of each evaluation
  std::vector<u64> state;                            // of each rank: a hash of parameters and optimizer state
  double seconds = 0;
};

// All ranks call it. Jobs are packed side by side onto the ranks. On every rank the outcomes of all.
std::vector<Outcome> run_jobs(Ranks& ranks, const std::vector<Job>& jobs, const std::string& folder);

// The largest relative distance of losses, of their other terms, of gradient norms and of validation losses; infinite
// where one is missing or not finite.
struct Distance {
  double loss = 0, terms = 0, norm = 0, validation = 0;
  double worst() const;
};
Distance distance(const Outcome& a, const Outcome& b);

}  // namespace megalith::parity
