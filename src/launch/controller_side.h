// The agent's interface to the controller: in the same process on node 0, over TCP on other nodes.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "launch/controller.h"
#include "launch/messages.h"
#include "launch/node_place.h"

namespace megalith::launch {

class ControllerSide {
 public:
  virtual ~ControllerSide() = default;
  virtual void say(const Report& report, double now) = 0;
  virtual void told_to_end(int signal) = 0;
  virtual std::vector<Order> hear(double now) = 0;  // reads messages and advances the controller
  virtual void kill_controller() {}                 // for fault injection, on node 0
  virtual std::vector<int> fds() const = 0;         // descriptors whose input must wake the agent
  virtual std::string last_line() const = 0;        // why the launch ends; empty if another node prints it
};

// `hello`: this agent's greeting. Error if node 0 cannot listen or is unreachable.
std::unique_ptr<ControllerSide> make_own_controller(const NodePlace& place, const Rules& rules, const Report& hello,
                                                    const Worlds& worlds);
std::unique_ptr<ControllerSide> make_far_controller(const NodePlace& place, const Rules& rules, const Report& hello);

void say_line(const std::string& line);  // writes a line for the user to stderr

}  // namespace megalith::launch
