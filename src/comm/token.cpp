#include "comm/token.h"

#include <sys/random.h>

#include "base/check.h"
#include "base/dtype.h"

namespace megalith {

std::string random_token() {
  u64 words[2] = {};
  check(getrandom(words, sizeof words, 0) == sizeof words, "the system gives no random numbers");
  return fmt::format("{:016x}{:016x}", words[0], words[1]);
}

}  // namespace megalith
