// `megalith launch`: starts the ranks of a node (launch/).
#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/check.h"
#include "base/log.h"
#include "base/parse_count.h"
#include "cli/command.h"
#include "cli/elastic_worlds.h"
#include "launch/agent.h"
#include "launch/resume_advice.h"

namespace megalith {

int command_launch(int argc, const char* const* argv) {
  const Environment env = [](const char* name) -> const char* { return std::getenv(name); };
  const auto controller = parse_count(env("MEGALITH_CONTROLLER_FD") ? env("MEGALITH_CONTROLLER_FD") : "");
  if (controller) log::mute();  // the agent that started it says all
  const launch::Settings settings = launch::read_settings({argv + 1, argv + argc});
  if (settings.help) return 0;
  if (const std::string advice = launch::resume_advice(settings.command); !advice.empty()) log::warn("{}", advice);
  const int cores = std::max(1, int(std::thread::hardware_concurrency()));
  const launch::NodePlace place = launch::find_node(settings, env, launch::count_gpus(env), cores);
  check(!settings.standby || place.nodes == 1, "--standby is built for one node, this launch has {}: leave it out",
        place.nodes);
  check(settings.snapshot_replicas < place.nodes,
        "--snapshot-replicas {}: there are {} other nodes: give at most that, or more nodes by --nnodes",
        settings.snapshot_replicas, place.nodes - 1);
  check(settings.spares < place.nodes, "--spares {}: the launch has {} nodes, spares included: give more by --nnodes",
        settings.spares, place.nodes);
  check(settings.spares == 0 || settings.snapshot_replicas < place.nodes - settings.spares,
        "--snapshot-replicas {}: a working node has {} other ones: give at most that, or more nodes by --nnodes",
        settings.snapshot_replicas, place.nodes - settings.spares - 1);
  const bool is_elastic = settings.min_ranks > 0 || place.least_nodes > 0;
  const std::string layouts = place.node == 0 ? settings.elastic_layouts : "";
  const launch::Worlds worlds = is_elastic ? elastic_worlds(settings.command, layouts) : launch::Worlds();
  if (controller) return launch::run_controller(settings, place, worlds, int(*controller));
  return launch::run_agent(settings, place, worlds);
}

}  // namespace megalith
