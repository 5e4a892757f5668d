// The agent of this rank, or the controller of the launch, is killed.
#include <unistd.h>

#include <cstdlib>

#include "base/check.h"
#include "comm/launch_line.h"
#include "inject/planted.h"

namespace megalith {

namespace {

class AgentFault final : public PlantedFault {
 public:
  AgentFault(const Fault& fault, const FaultSite& site)
      : fault_(fault), agent_([](const char* name) -> const char* { return std::getenv(name); }) {
    fault.check_arguments(0, {});
    check(agent_.is_there(), "--inject {}: this rank has no agent: start the run by megalith launch", fault.text);
    const Place& place = site.ranks.place();
    check(fault.kind == "agent-kill" || place.rank == place.local_rank,
          "--inject {}: the controller is on node 0, and rank {} is not: name a rank of node 0", fault.text,
          place.rank);
  }
  void step_begins(i64 iteration) override {
    if (iteration != fault_.iteration) return;
    if (fault_.kind == "controller-kill") return agent_.kill("controller");
    agent_.kill("agent");
    for (;;) pause();  // the system kills this rank together with its agent
  }

 private:
  Fault fault_;
  LaunchLine agent_;
};

}  // namespace

std::unique_ptr<PlantedFault> make_agent_fault(const Fault& fault, const FaultSite& site) {
  return std::make_unique<AgentFault>(fault, site);
}

}  // namespace megalith
