#include "train/start_age.h"

#include "base/log.h"
#include "goodput/ledger.h"

namespace megalith {

void say_age(const Options& o, const char* what) {
  if (o.train.log_level == LogLevel::debug) log::say("  {:.2f} s: {}", Ledger::real_clock().age, what);
}

}  // namespace megalith
