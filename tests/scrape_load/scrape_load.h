// Scrapes an endpoint of this host many times a second, and counts the answers.
#pragma once
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct ScrapeCounts {
  i64 answers = 0;   // complete, with status 200
  i64 failures = 0;  // no connection, no complete answer, or another status
  i64 late = 0;      // scrapes left out, because previous scrapes took too long
  double seconds = 0;
  std::vector<double> latencies;  // seconds, sorted

  double latency(double share) const;  // 0.5: the median
};

class ScrapeLoad {
 public:
  // Scrapes from now on. `per_second`: the rate of all threads together. Each scrape opens a connection.
  ScrapeLoad(int port, double per_second, int threads = 2);
  ~ScrapeLoad();
  ScrapeLoad(const ScrapeLoad&) = delete;

  ScrapeCounts stop();

 private:
  void scrape(int port, double interval, double offset, ScrapeCounts& counts) const;

  std::atomic<bool> ends_ = false;
  double began_ = 0;
  std::vector<ScrapeCounts> counts_;
  std::vector<std::thread> threads_;
};

}  // namespace megalith
