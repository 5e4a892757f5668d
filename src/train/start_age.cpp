#include "train/start_age.h"

#include "base/clock.h"
#include "base/log.h"

namespace megalith {

Ledger::Clock start_clock(double began) {
  Ledger::Clock clock = Ledger::real_clock();
  if (began > 0) clock.age = clock.steady() - began;
  return clock;
}

void say_age(const Options& o, const char* what, double began) {
  if (o.train.log_level == LogLevel::debug) log::say("  {:.2f} s: {}", start_clock(began).age, what);
}

}  // namespace megalith
