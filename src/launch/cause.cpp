#include "launch/cause.h"

#include <fmt/core.h>

#include <cstring>

#include "comm/ranks.h"

namespace megalith::launch {

// An exit code of 128 + n also means signal n: a rank that was asked to stop exits with it.
static int signal_in(const Exit& e) {
  return e.signal != 0 ? e.signal : e.code > 128 && e.code < 193 ? e.code - 128 : 0;
}

Meaning meaning_of(const Exit& e) {
  if (e.is_brought_down) return Meaning::brought_down;
  if (signal_in(e) != 0) return Meaning::killed;
  switch (e.code) {
    case 0:
      return Meaning::done;
    case 1:
      return e.iteration < 0 && !e.has_stood_by ? Meaning::configuration : Meaning::error;
    case 2:
      return Meaning::configuration;
    case kEndedByOthers:
      return Meaning::brought_down;
    case kRequeue:
      return Meaning::requeue;
    case kPersistentDoubt:
      return Meaning::persistent_doubt;
    default:
      return Meaning::error;
  }
}

const Exit* cause_among(const std::vector<Exit>& exits) {
  for (const bool is_signal : {true, false})
    for (const Exit& e : exits) {
      const Meaning m = meaning_of(e);
      if (m != Meaning::done && m != Meaning::brought_down && (m == Meaning::killed) == is_signal) return &e;
    }
  return nullptr;
}

std::string name_of_signal(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

std::string told_of(const Exit& e) {
  std::string text = fmt::format("rank {} (pid {} on {})", e.rank, e.pid, e.host);
  if (e.is_out_of_memory)
    text += " was killed by the kernel: its control group ran out of memory";
  else if (e.is_silent)
    text += " was silent (stopped, or cut off)";
  else if (const int signal = signal_in(e))
    text += fmt::format(" was ended by {}", name_of_signal(signal));
  else if (e.code == kTransientDoubt)
    text += " has uncertain results (exit code 16)";
  else if (e.code == kPersistentDoubt)
    text += " computed wrong results repeatedly (exit code 17)";
  else
    text += fmt::format(" ended with exit code {}", e.code);
  return text + (e.iteration < 0 ? " before its first iteration" : fmt::format(" after iteration {}", e.iteration));
}

std::string last_words(const Exit& cause, const std::vector<Exit>& exits) {
  if (!cause.last_line.empty()) return cause.last_line;
  const std::string named = fmt::format("rank {} ", cause.rank);
  for (const Exit& e : exits)
    if (e.last_line.find(named) != std::string::npos) return e.last_line;
  return {};
}

}  // namespace megalith::launch
