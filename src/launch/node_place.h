// This node's index in a launch, and the address of node 0: from flags, Kubernetes or Slurm.
#pragma once
#include <string>

#include "launch/launch_settings.h"

namespace megalith::launch {

struct NodePlace {
  int node = 0, nodes = 1;
  int least_nodes = 0;             // fewest nodes that may run; 0: all
  std::string host = "127.0.0.1";  // address of node 0
  int port = 0;                    // its controller's
  int ranks = 1;                   // that this node starts
  bool operator==(const NodePlace&) const = default;
};

// `gpus` and `cores`: of this node. Error if flags and variables are incomplete or contradict each other.
NodePlace find_node(const Settings& settings, const Environment& env, int gpus, int cores);

// The first node in Slurm's list: "a-03" in "a-[03-05,9],b1".
std::string first_host(const std::string& list);

int count_gpus(const Environment& env);  // of this node, from /dev and CUDA_VISIBLE_DEVICES

}  // namespace megalith::launch
