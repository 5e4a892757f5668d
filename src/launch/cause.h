// Finds which rank's end is the cause of a generation's end, and what the launch does next.
#pragma once
#include <string>
#include <vector>

#include "comm/doubt_codes.h"
#include "launch/messages.h"

namespace megalith::launch {

inline constexpr int kRequeue = 85;    // the run exited to be requeued
inline constexpr int kCrashLoop = 93;  // do not restart

enum class Meaning { done, brought_down, configuration, error, killed, requeue, persistent_doubt };

Meaning meaning_of(const Exit& e);

// The exit that caused the others. nullptr if all ranks finished or were stopped. Signals come first, then errors,
// each in the order of their reports.
const Exit* cause_among(const std::vector<Exit>& exits);

// "rank 3 (pid 4711 on node-a) was ended by SIGKILL after iteration 12"
std::string told_of(const Exit& e);

// The last line that this rank wrote, or that another rank wrote about it. Empty if there is none.
std::string last_words(const Exit& cause, const std::vector<Exit>& exits);

std::string name_of_signal(int signal);

}  // namespace megalith::launch
