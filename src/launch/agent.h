// The agent of one node: starts the ranks as the controller says, and tells it how they fare.
#pragma once
#include "launch/launch_settings.h"
#include "launch/node_place.h"

namespace megalith::launch {

// Until the launch is over: its exit code. SIGTERM, SIGINT, SIGUSR1 and SIGUSR2 go to the ranks.
int run_agent(const Settings& settings, const NodePlace& place);

}  // namespace megalith::launch
