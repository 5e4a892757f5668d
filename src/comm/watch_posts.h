// The two sides of the watch, and what they say to each other. A frame's first character is its kind.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "comm/connection.h"
#include "comm/watch.h"

namespace megalith {

namespace frame {
constexpr char kHello = 'H';      // from a rank: the watch's token, a space and the rank; the answer is a beat
constexpr char kBeat = 'B';       // the sender's activity
constexpr char kFarewell = 'F';   // from a rank that ends well; the answer is the same
constexpr char kFailed = 'X';     // from a rank: its error
constexpr char kTold = 'T';       // from a rank that got SIGTERM or SIGINT: its name
constexpr char kHubSilent = 'Q';  // from a rank that ends as the hub was silent
constexpr char kEnd = 'E';  // from the hub: the rank that is the cause of the end, and 'k' if it must be killed locally
constexpr i64 kLongest = 4096;
}  // namespace frame

struct WatchPlace {
  int rank = 0;
  double silence_seconds = 0;
  std::vector<Member> members;
};

constexpr double kBeatSeconds = 0.5;

// How long a rank may be silent. On a host with too many busy processes a rank may get no core for seconds.
inline double longest_silence(const WatchPlace& place, const Member& m) {
  constexpr double kWithoutACore = 20;
  const Member& self = place.members[size_t(place.rank)];
  return runs_near(m, self) ? std::max(kWithoutACore, place.silence_seconds) : place.silence_seconds;
}

std::unique_ptr<Post> make_hub(const WatchPlace& place, WatchMailbox& mailbox, Listener listener,
                               const std::string& token);
std::unique_ptr<Post> make_spoke(const WatchPlace& place, WatchMailbox& mailbox, Connection hub);

// Under `megalith launch`: the agents print the stacks of all ranks, and kill them. Returns later if they do not.
void report_silence(int rank);

// Writes the line about a run's end immediately, whatever other threads hold.
void write_end(const std::string& line);
std::string last_at(const std::string& what);           // "; it was last at "what""; "" if that is nothing
std::string was_at(int rank, const std::string& what);  // "; rank 3 was at "what"", also
std::string signal_name(int signal);
[[noreturn]] void leave(int code);  // without finalising anything

}  // namespace megalith
