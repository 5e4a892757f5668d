// The agent's interface to the controller. With one node it is in the agent's process. With several nodes it is a child
// process of node 0's agent, and all agents connect to it over TCP.
#pragma once
#include <functional>
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
// `lost`: called before it connects again.
std::unique_ptr<ControllerSide> make_far_controller(const NodePlace& place, const Rules& rules, const Report& hello,
                                                    std::function<void()> lost = {});
// For node 0 of several: starts the controller, and another one when it ends. `words`: this launch's arguments.
std::unique_ptr<ControllerSide> make_near_controller(const NodePlace& place, const Rules& rules, const Report& hello,
                                                     const std::vector<std::string>& words);
// The process of a controller. `fd`: its listener's.
int run_controller(const NodePlace& place, const Rules& rules, const Report& hello, const Worlds& worlds, int fd);

void say_line(const std::string& line);  // writes a line for the user to stderr

}  // namespace megalith::launch
