// The agent of one node: starts the ranks as the controller says, and tells it how they fare.
#pragma once
#include "launch/controller.h"
#include "launch/launch_settings.h"
#include "launch/node_place.h"

namespace megalith::launch {

// Until the launch is over: its exit code. SIGTERM, SIGINT, SIGUSR1 and SIGUSR2 go to the ranks. `worlds` is asked
// where fewer ranks than all will do.
int run_agent(const Settings& settings, const NodePlace& place, const Worlds& worlds);

}  // namespace megalith::launch
