#include "resume/agreed_start.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/log.h"
#include "comm/on_all_ranks.h"

namespace megalith {
namespace {

std::string name_of_iteration(i64 iteration) {
  return iteration < 0 ? std::string("no checkpoint") : fmt::format("iteration {}", iteration);
}

// Distinguishes a directory from its copy on another host's disk: their inode number and time of change differ.
std::string identity_of(const std::string& path) {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0) return {};
  return fmt::format("{} {}.{:09}", s.st_ino, s.st_ctim.tv_sec, s.st_ctim.tv_nsec);
}

void verify(RunStart& start, Ranks& ranks) {
  const std::string mine = identity_of(start.place());
  const std::vector<std::string> all = ranks.all_gather(mine);
  const Share share{int(std::count(all.begin(), all.begin() + ranks.rank(), mine)), int(std::ranges::count(all, mine))};
  on_all_ranks(ranks, [&] { start.verify(share); });
}

}  // namespace

RunStart agreed_start(const Options& options, Ranks& ranks, std::optional<i64> no_later_than) {
  for (;;) {
    std::optional<RunStart> start;
    on_all_ranks(ranks, [&] { start.emplace(options, StartChoice{.no_later_than = no_later_than}); });
    std::vector<i64> found;  // by rank; -1: none
    const std::vector<std::string> all =
        ranks.all_gather(fmt::format("{} {}", start->iteration().value_or(-1), start->passed_over()));
    for (const std::string& text : all) found.push_back(std::stoll(text));
    const auto [lowest, highest] = std::ranges::minmax_element(found);
    if (*lowest == *highest) {
      verify(*start, ranks);
      return std::move(*start);
    }
    const std::string what =
        fmt::format("--load {}: rank {} finds {}, rank {} finds {}", options.train.load, highest - found.begin(),
                    name_of_iteration(*highest), lowest - found.begin(), name_of_iteration(*lowest));
    // Some formats have one checkpoint per directory, or name only one. Then ranks cannot use an older one.
    const bool can_go_back = *lowest >= 0 && (!no_later_than || *highest <= *no_later_than);
    check(can_go_back, "{}: give all hosts the same directory, or complete copies of it", what);
    const std::string& told = all[size_t(lowest - found.begin())];
    const std::string why = told.substr(told.find(' ') + 1);
    log::warn("{}{}: all ranks load {}", what, why.empty() ? "" : fmt::format(" ({})", why), *lowest);
    no_later_than = *lowest;
  }
}

}  // namespace megalith
