#include "scrape_load.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "tests/observe/http.h"

namespace megalith {

// The answer has status 200, and its body has the length that its head states.
static bool is_complete(const std::string& answer) {
  constexpr std::string_view kLength = "Content-Length: ";
  const size_t head = answer.find("\r\n\r\n"), length = answer.find(kLength);
  if (!answer.starts_with("HTTP/1.1 200") || head == std::string::npos || length > head) return false;
  return answer.size() == head + 4 + std::stoul(answer.substr(length + kLength.size()));
}

double ScrapeCounts::latency(double share) const {
  return latencies.empty() ? 0 : latencies[std::min(latencies.size() - 1, size_t(share * double(latencies.size())))];
}

ScrapeLoad::ScrapeLoad(int port, double per_second, int threads) : began_(steady_seconds()), counts_(size_t(threads)) {
  const double interval = double(threads) / per_second;
  for (int i = 0; i < threads; ++i)
    threads_.emplace_back([=, this] { scrape(port, interval, interval * i / threads, counts_[size_t(i)]); });
}

ScrapeLoad::~ScrapeLoad() { stop(); }

ScrapeCounts ScrapeLoad::stop() {
  ends_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  ScrapeCounts all;
  for (ScrapeCounts& c : counts_) {
    all.answers += c.answers, all.failures += c.failures, all.late += c.late;
    all.latencies.insert(all.latencies.end(), c.latencies.begin(), c.latencies.end());
  }
  all.seconds = steady_seconds() - began_;
  std::ranges::sort(all.latencies);
  counts_.clear();
  return all;
}

// Keeps its pace by the clock. Its threads have low priority, because usual scrapers run on other machines.
void ScrapeLoad::scrape(int port, double interval, double offset, ScrapeCounts& counts) const {
  constexpr int kNice = 10;
  constexpr double kMostBehind = 0.1;  // seconds
  setpriority(PRIO_PROCESS, id_t(gettid()), kNice);
  for (double next = began_ + offset; !ends_; next += interval) {
    const double now = steady_seconds();
    if (now < next) std::this_thread::sleep_for(std::chrono::duration<double>(next - now));
    if (now > next + kMostBehind) {
      ++counts.late;
      continue;
    }
    const double sent = steady_seconds();
    const bool ok = is_complete(http_get(port, "/metrics"));
    ++(ok ? counts.answers : counts.failures);
    if (ok) counts.latencies.push_back(steady_seconds() - sent);
  }
}

}  // namespace megalith
