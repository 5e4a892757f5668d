// Starts comm-program as the ranks of a run: under mpirun, or with the variables that torchrun sets.
#pragma once
#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace megalith::test {

using Variables = std::map<std::string, std::string>;

struct RunOf {
  int size = 8;
  std::vector<std::string> words{};  // comm-program's
  Variables variables{};             // for all ranks
  double seconds = 60;               // then everything is killed
};

struct Ran {
  std::vector<int> exit_codes;  // of the processes started here; 128 + signal where one ended by a signal
  std::string out, err;
  std::map<int, pid_t> pids;     // by rank, as the ranks printed them
  double seconds_after_act = 0;  // from act() until all ranks were gone
  double seconds_in_all = 0;     // and until their launcher was
  bool is_all_gone = false;      // no rank was left

  bool ok() const;                                         // all exit codes are 0
  bool all_failed() const;                                 // none is
  std::vector<std::string> lines(const char* with) const;  // of err
};

// Called when all ranks have printed that they are ready. Its arguments are their pids and the launcher's (0 if there
// is none).
using Act = std::function<void(const std::map<int, pid_t>& ranks, pid_t launcher)>;

bool has_mpirun();
Ran run_by_mpirun(const RunOf& run, const Act& act = {});
// Rank r with RANK=r and so on, and what `of_rank` adds.
Ran run_by_environment(const RunOf& run, const Act& act = {}, const std::function<Variables(int rank)>& of_rank = {});

int free_port();

}  // namespace megalith::test
