#include "comm/on_all_ranks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <string_view>
#include <vector>

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

void check_agreement(Ranks& ranks, const std::vector<Agreed>& mine, int among) {
  std::string hashes;
  for (const Agreed& a : mine) hashes += hash_of(a.text) + "\n";
  const std::string tail = fmt::format("among {}", among);
  const std::vector<std::string> all = ranks.all_gather(hashes + tail);
  on_all_ranks(ranks, [&] {
    size_t first = 0;
    while (!all[first].ends_with(tail)) ++first;
    constexpr size_t kLine = 17;
    for (size_t i = 0; i < mine.size(); ++i)
      check(all[first].compare(i * kLine, kLine, hashes, i * kLine, kLine) == 0, "{} here differ from rank {}'s: {}",
            mine[i].what, first, mine[i].cure);
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
