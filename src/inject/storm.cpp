#include "inject/storm.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <sstream>

#include "base/check.h"
#include "base/parse_count.h"
#include "base/rng.h"
#include "inject/fault.h"

namespace megalith {
namespace {

constexpr std::string_view kName = "storm:";

double seconds_of(const std::string& text, const std::string& word) {
  char* end = nullptr;
  const double s = std::strtod(text.c_str(), &end);
  check(std::string_view(end) == "s" && s > 0 && std::isfinite(s),
        "--inject {}: mtbf={}: want the mean seconds between failures, as in mtbf=5s", word, text);
  return s;
}

int signal_of(const std::string& kind, const std::string& word) {
  if (kind == "kill") return SIGKILL;
  if (kind == "stop") return SIGSTOP;
  if (kind == "abort") return SIGABRT;
  check(kind == "segv", "--inject {}: kinds={}: want some of kill, stop, abort and segv, with + between them", word,
        kind);
  return SIGSEGV;
}

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) out.push_back(part);
  return out;
}

StormSettings parse_storm(const std::string& word) {
  StormSettings out;
  for (const std::string& part : parts_of(word.substr(kName.size()), ':')) {
    const size_t equals = std::min(part.find('='), part.size());
    const std::string key = part.substr(0, equals), value = part.substr(std::min(equals + 1, part.size()));
    if (key == "mtbf") {
      out.mean_seconds = seconds_of(value, word);
    } else if (key == "seed") {
      const auto seed = parse_count(value);
      check(seed.has_value(), "--inject {}: seed={}: want a number", word, value);
      out.seed = u64(*seed);
    } else {
      check(key == "kinds", "--inject {}: there is no argument {}: leave it out", word, part);
      for (const std::string& kind : parts_of(value, '+')) out.signals.push_back(signal_of(kind, word));
    }
  }
  check(out.mean_seconds > 0, "--inject {}: say how often, as in storm:mtbf=5s:seed=7", word);
  if (out.signals.empty()) out.signals = {SIGKILL};
  return out;
}

}  // namespace

bool is_storm(std::string_view word) { return word.starts_with(kName); }

std::optional<StormSettings> find_storm(const std::vector<std::string>& texts) {
  std::optional<StormSettings> out;
  for (const std::string& text : texts)
    for (const std::string& word : fault_words(text)) {
      if (!is_storm(word)) continue;
      check(!out, "--inject {}: there is another storm: give one", word);
      out = parse_storm(word);
    }
  return out;
}

StormStrike strike_of(const StormSettings& storm, i64 start, int ranks) {
  const u64 draw = mix_all(storm.seed, start);
  return {.seconds = -storm.mean_seconds * std::log(1 - unit(mix(draw, 0))),
          .rank = int(mix(draw, 1) % u64(ranks)),
          .signal = storm.signals[mix(draw, 2) % storm.signals.size()]};
}

Storm::Storm(const std::vector<std::string>& texts, int rank, int ranks, i64 start) {
  const std::optional<StormSettings> storm = find_storm(texts);
  if (!storm) return;
  const StormStrike strike = strike_of(*storm, start, ranks);
  if (strike.rank != rank) return;
  thread_ = std::jthread([strike](const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any over;
    over.wait_for(lock, stop, std::chrono::duration<double>(strike.seconds), [] { return false; });
    if (!stop.stop_requested()) kill(getpid(), strike.signal);
  });
}

}  // namespace megalith
