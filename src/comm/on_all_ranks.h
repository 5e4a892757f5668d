// Work that succeeds on all ranks or fails on all.
#pragma once
#include <functional>
#include <string>

#include "base/check.h"
#include "comm/ranks.h"

namespace megalith {

// An error that another rank reports, so this rank does not print it.
struct ReportedByOtherRank : Error {
  using Error::Error;
};

// Runs f; all ranks must call it. If f throws an Error on any rank, all ranks throw. The first failing rank throws its
// own error, the others ReportedByOtherRank.
void on_all_ranks(Ranks& ranks, const std::function<void()>& f);

// Likewise. The first rank of each host runs f before the others, which may read files that it writes.
void first_of_host_first(Ranks& ranks, const std::function<void()>& f);

// Returns f's result. An error of f ends all ranks, with one line that names this rank. A single rank throws it.
int tell_errors(Ranks& ranks, const std::function<int()>& f);

// Error on all ranks unless each has the same texts as the first rank with the same `among`. `what`: the name of each
// text, "the flags". `cure`: what the user can do. `values`: lines "NAME VALUE" or "NAME ... VALUE"; the error lists
// those that differ.
struct Agreed {
  std::string what, text, cure = "start the same program with the same flags on every host", values{};
};
void check_agreement(Ranks& ranks, const std::vector<Agreed>& mine, int among = 0);

// Identifies this build of the program by its file.
std::string program_identity();

// The sum over all ranks.
double sum_over(Ranks& ranks, double mine);

}  // namespace megalith
