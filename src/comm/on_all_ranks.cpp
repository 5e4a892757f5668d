#include "comm/on_all_ranks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <map>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/mismatch.h"
#include "base/mistakes.h"
#include "base/one_line.h"
#include "comm/socket.h"

namespace megalith {

void on_all_ranks(Ranks& ranks, const std::function<void()>& f) {
  if (ranks.size() == 1) return f();
  std::string error;
  std::exception_ptr own;
  try {
    f();
  } catch (const Error& e) {
    own = std::current_exception();
    error = e.what();
    if (error.empty()) error = "failed";
  }
  const std::vector<std::string> errors = ranks.all_gather(error);
  for (int r = 0; r < ranks.size(); ++r) {
    if (errors[size_t(r)].empty()) continue;
    if (r != ranks.rank()) throw ReportedByOtherRank(errors[size_t(r)]);
    if (r == 0) std::rethrow_exception(own);
    throw Error(fmt::format("rank {}: {}", r, error));
  }
}

void first_of_host_first(Ranks& ranks, const std::function<void()>& f) {
  const bool is_first = ranks.place().local_rank == 0;
  for (const bool turn : {true, false})
    on_all_ranks(ranks, [&] {
      if (is_first == turn) f();
    });
}

int tell_errors(Ranks& ranks, const std::function<int()>& f) {
  try {
    return f();
  } catch (const ReportedByOtherRank&) {
    ranks.failed("");
    throw;
  } catch (const Mistakes& e) {
    if (ranks.size() == 1) throw;
    fmt::print(stderr, "{}\n", told(e));
    if (ranks.failed("its command line is refused: see the errors")) throw ReportedByOtherRank(one_line(e));
    throw;
  } catch (const std::exception& e) {
    if (ranks.failed(one_line(e))) throw ReportedByOtherRank(one_line(e));
    throw;
  }
}

static std::string hash_of(std::string_view text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

static std::map<std::string, std::string> values_of(const std::string& lines) {
  std::map<std::string, std::string> out;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name, dots, value;
    words >> name >> dots;
    std::getline(words >> std::ws, value);
    if (dots.find_first_not_of('.') != dots.npos) value = value.empty() ? dots : dots + " " + value;
    out[name] = value;
  }
  return out;
}

// " (lr: 0.1 there, 0.2 here)"
static std::string differing(const std::string& here, const std::string& there) {
  std::map<std::string, Mismatch> all;
  const std::map<std::string, std::string> ours = values_of(here), theirs = values_of(there);
  for (const auto& [name, value] : ours) all[name] = {name, value, {}};
  for (const auto& [name, value] : theirs) all[name].name = name, all[name].found = value;
  std::vector<Mismatch> odd;
  for (const auto& [name, m] : all)
    if (m.expected != m.found) odd.push_back(m);
  return odd.empty() ? "" : fmt::format(" ({})", list_mismatches(odd));
}

void check_agreement(Ranks& ranks, const std::vector<Agreed>& mine, int among) {
  constexpr size_t kLine = 17;
  std::string hashes;
  for (const Agreed& a : mine) hashes += hash_of(a.text) + "\n";
  const std::vector<std::string> all = ranks.all_gather(hashes + fmt::format("among {}", among));
  std::map<std::string, size_t> groups;  // the first rank of each
  std::vector<size_t> first;             // by rank
  for (size_t r = 0; r < all.size(); ++r)
    first.push_back(groups.try_emplace(all[r].substr(hashes.size()), r).first->second);
  const auto differs = [&](size_t rank, size_t i) {
    return all[rank].compare(i * kLine, kLine, all[first[rank]], i * kLine, kLine) != 0;
  };
  // The first text that differs anywhere: the same on all ranks.
  size_t odd = 0;
  const auto differs_anywhere = [&](size_t i) {
    for (size_t r = 0; r < all.size(); ++r)
      if (differs(r, i)) return true;
    return false;
  };
  while (odd < mine.size() && !differs_anywhere(odd)) ++odd;
  if (odd == mine.size()) return;
  const size_t self = size_t(ranks.rank());
  const std::vector<std::string> there = ranks.all_gather(first[self] == self ? mine[odd].values : "");
  on_all_ranks(ranks, [&] {
    check(!differs(self, odd), "{} here differ from rank {}'s{}: {}", mine[odd].what, first[self],
          differing(mine[odd].values, there[first[self]]), mine[odd].cure);
  });
}

// The file is hashed in place: copying it takes longer than the rest of a small run's start.
std::string program_identity() {
  static const std::string identity = [] {  // the file does not change while it runs
    const Socket file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    struct stat s {};
    check(file && fstat(file.fd(), &s) == 0, "/proc/self/exe can't be read: mount /proc");
    void* p = mmap(nullptr, size_t(s.st_size), PROT_READ, MAP_PRIVATE | MAP_POPULATE, file.fd(), 0);
    check(p != MAP_FAILED, "/proc/self/exe can't be read: {}", std::strerror(errno));
    std::string hash = hash_of({static_cast<const char*>(p), size_t(s.st_size)});
    munmap(p, size_t(s.st_size));
    return hash;
  }();
  return identity;
}

double sum_over(Ranks& ranks, double mine) {
  double sum = 0;
  for (const std::string& text : ranks.all_gather(std::string(reinterpret_cast<const char*>(&mine), sizeof mine))) {
    double term;
    std::memcpy(&term, text.data(), sizeof term);
    sum += term;
  }
  return sum;
}

}  // namespace megalith
