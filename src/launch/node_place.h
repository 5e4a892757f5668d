// Which node of a launch this is, and where node 0 can be reached: as flags, Kubernetes or Slurm say.
#pragma once
#include <string>

#include "launch/launch_settings.h"

namespace megalith::launch {

struct NodePlace {
  int node = 0, nodes = 1;
  int least_nodes = 0;             // so many will do; 0: all
  std::string host = "127.0.0.1";  // of node 0
  int port = 0;                    // its controller's
  int ranks = 1;                   // that this node starts
  bool operator==(const NodePlace&) const = default;
};

// `gpus` and `cores`: of this node. Error if flags and variables say too little, or what cannot be.
NodePlace find_node(const Settings& settings, const Environment& env, int gpus, int cores);

// The first of Slurm's list of nodes: "a-03" of "a-[03-05,9],b1".
std::string first_host(const std::string& list);

int count_gpus(const Environment& env);  // of this node, as /dev and CUDA_VISIBLE_DEVICES say

}  // namespace megalith::launch
