// The agent of one node. It starts the ranks on the controller's orders and reports their state to the controller.
#pragma once
#include "launch/controller.h"
#include "launch/launch_settings.h"
#include "launch/node_place.h"

namespace megalith::launch {

// Runs until the launch is over and returns its exit code. It forwards SIGTERM, SIGINT, SIGUSR1 and SIGUSR2 to the
// ranks. If fewer ranks than all are enough, `worlds` gives their number.
int run_agent(const Settings& settings, const NodePlace& place, const Worlds& worlds);
// The process of the controller of several nodes, which node 0's agent starts. `fd`: its listener's.
int run_controller(const Settings& settings, const NodePlace& place, const Worlds& worlds, int fd);

}  // namespace megalith::launch
