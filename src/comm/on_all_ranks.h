// What all ranks must do, or fail in, as one.
#pragma once
#include <functional>
#include <string>

#include "base/check.h"
#include "comm/ranks.h"

namespace megalith {

// The error of another rank, which it tells itself.
struct ReportedByOtherRank : Error {
  using Error::Error;
};

// Runs f on every rank. If it throws an Error on any, all throw: the first of the failing ranks its own, the others
// ReportedByOtherRank. To be called by all ranks.
void on_all_ranks(Ranks& ranks, const std::function<void()>& f);

// f's result. An error of f ends all ranks with one line that names this one; alone it is thrown on.
int tell_errors(Ranks& ranks, const std::function<int()>& f);

// Error on all ranks unless each gives the same texts as the first rank that has the same `among`. `what`: what each
// text is, "the flags".
struct Agreed {
  std::string what, text;
};
void check_agreement(Ranks& ranks, const std::vector<Agreed>& mine, int among = 0);

// What tells this program's file from another build of it.
std::string program_identity();

// The sum over all ranks.
double sum_over(Ranks& ranks, double mine);

}  // namespace megalith
