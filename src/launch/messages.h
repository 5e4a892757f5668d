// What agents and the controller of `megalith launch` say to each other. Every message but a hello carries the
// generation: how often the ranks have been started. Messages of another generation are passed over.
#pragma once
#include <string>

#include "base/dtype.h"

namespace megalith::launch {

// How a rank ended.
struct Exit {
  int rank = -1, code = 0;
  int signal = 0;                   // that ended it, or 0
  bool is_brought_down = false;     // killed by its agent, as another rank's end had brought the run down
  bool has_stood_by = false;        // it took over: its command was none that is wrong
  bool is_out_of_memory = false;    // the system killed it for want of memory
  i64 pid = 0, iteration = -1;      // the last that it has done in this generation; -1: none
  std::string host{}, last_line{};  // of its stderr
};

// From an agent.
struct Report {
  enum class Kind { hello, exited, progress };
  Kind kind = Kind::hello;
  i64 generation = 0;    // of a hello: the last that this agent has seen
  std::string run_id{};  // of a hello, as the next two
  std::string host{};
  int ranks = 0;       // that this node starts
  i64 iteration = -1;  // of progress: the last that is done; -1: none, but something moves
  Exit exit{};         // of exited
};

// From the controller.
struct Order {
  enum class Kind { start, stop, finish };
  Kind kind = Kind::start;
  i64 generation = 0;
  int first_rank = 0, ranks = 0, world = 0;  // of a start, as the next two; `ranks`: of the node
  std::string master_address{};
  int master_port = 0;
  double grace = 0;      // of a stop: so many seconds until those that are left are killed
  bool is_hang = false;  // of a stop: each rank's agent tells what it was at
  bool leaves = false;   // likewise: ranks save and leave by themselves
  int code = 0;          // of a finish: how the agent ends
};

std::string text_of(const Report& report);
std::string text_of(const Order& order);
// Error if the text is none.
Report report_from(const std::string& text);
Order order_from(const std::string& text);

}  // namespace megalith::launch
