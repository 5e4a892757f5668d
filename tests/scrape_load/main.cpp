// scrape-load PORT [SCRAPES_A_SECOND [SECONDS]]: scrapes a run on this host and prints the result.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "scrape_load.h"

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: scrape-load PORT [SCRAPES_A_SECOND [SECONDS]]\n"), 2;
  const double per_second = argc > 2 ? std::atof(argv[2]) : 1000, seconds = argc > 3 ? std::atof(argv[3]) : 60;
  megalith::ScrapeLoad load(std::atoi(argv[1]), per_second);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const megalith::ScrapeCounts c = load.stop();
  std::printf("%lld answers in %.1f s (%.0f a second), %lld failures, %lld left out; median %.3f ms, 99%% %.3f ms\n",
              static_cast<long long>(c.answers), c.seconds, double(c.answers) / c.seconds,
              static_cast<long long>(c.failures), static_cast<long long>(c.late), 1e3 * c.latency(0.5),
              1e3 * c.latency(0.99));
  return c.answers > 0 && c.failures == 0 ? 0 : 1;
}
