// How an agent speaks with the controller: in the same process on node 0, over TCP on the others.
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
  virtual std::vector<Order> hear(double now) = 0;  // moves things on
  virtual std::vector<int> fds() const = 0;         // to wake up for
  virtual std::string last_line() const = 0;        // why the launch ends; empty where another node says so
};

// `hello`: what this agent says of itself. Error if node 0 cannot listen, or cannot be reached.
std::unique_ptr<ControllerSide> make_own_controller(const NodePlace& place, const Rules& rules, const Report& hello,
                                                    const Worlds& worlds);
std::unique_ptr<ControllerSide> make_far_controller(const NodePlace& place, const Rules& rules, const Report& hello);

void say_line(const std::string& line);  // to people, on stderr

}  // namespace megalith::launch
