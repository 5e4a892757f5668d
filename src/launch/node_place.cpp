#include "launch/node_place.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>

#include "base/check.h"
#include "base/parse_count.h"
#include "comm/srun_task.h"

namespace megalith::launch {
namespace {

constexpr i64 kMost = 1 << 20;

int count_of(const std::string& name, const std::string& text, i64 least) {
  const auto n = parse_count(text);
  check(n && *n >= least && *n <= kMost, "{} {} is not a whole number of {} or more", name, text, least);
  return int(*n);
}

// A value, and the flag or variable that it comes from.
struct Told {
  std::string name, value;
};

std::optional<Told> variable(const Environment& env, const char* name) {
  const char* text = env(name);
  if (!text || !*text) return {};
  return Told{name, text};
}

// The variables of a scheduler that starts one task, or one pod, for each node.
struct Source {
  const char *node, *nodes, *host, *port;
};

// PyTorchJob's RANK and WORLD_SIZE count pods, not processes.
Source source_in(const Environment& env) {
  if (variable(env, "PET_NODE_RANK")) return {"PET_NODE_RANK", "PET_NNODES", "PET_MASTER_ADDR", "PET_MASTER_PORT"};
  if (is_task_of_srun(env)) return {"SLURM_NODEID", "SLURM_STEP_NUM_NODES", "", ""};
  if (variable(env, "RANK")) return {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
  return {"JOB_COMPLETION_INDEX", "PET_NNODES", "MASTER_ADDR", "MASTER_PORT"};
}

// N, or MIN:MAX as in torchrun.
void take_nodes(const Told& t, NodePlace& p) {
  const size_t colon = t.value.find(':');
  const int least = p.nodes = count_of(t.name, t.value.substr(0, colon), 1);
  if (colon == std::string::npos) return;
  p.nodes = count_of(t.name, t.value.substr(colon + 1), 1);
  check(least <= p.nodes, "{} {}: give the fewest nodes first, as in {}:{}", t.name, t.value, p.nodes, least);
  if (least < p.nodes) p.least_nodes = least;
}

void find_endpoint(const Settings& s, const Environment& env, const Source& source, NodePlace& p) {
  constexpr int kPort = 29400;  // torchrun's
  std::string host = s.master_addr, endpoint = s.rdzv_endpoint;
  i64 port = s.master_port;
  if (endpoint.empty() && host.empty()) endpoint = variable(env, "PET_RDZV_ENDPOINT").value_or(Told{}).value;
  if (!endpoint.empty()) {
    const size_t colon = endpoint.rfind(':');
    host = endpoint.substr(0, colon);
    if (colon != std::string::npos) port = count_of("the port of --rdzv-endpoint", endpoint.substr(colon + 1), 1);
  }
  if (const auto told = variable(env, source.host); host.empty() && told) {
    host = told->value;
    if (const auto at = variable(env, source.port); at && port == 0) port = count_of(at->name, at->value, 1);
  }
  for (const char* list : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"})
    if (const auto told = variable(env, list); host.empty() && told && is_task_of_srun(env))
      host = first_host(told->value);
  check(!host.empty(), "the address of node 0 is unknown: give --rdzv-endpoint HOST:PORT, the same on all {} nodes",
        p.nodes);
  p.host = host;
  p.port = port == 0 ? kPort : int(port);
  check(p.port <= 65535, "port {}: give one from 1 to 65535", p.port);
}

int ranks_of(const Settings& s, const Environment& env, int gpus, int cores) {
  Told told{"--nproc-per-node", s.nproc_per_node};
  if (told.value.empty()) told = variable(env, "PET_NPROC_PER_NODE").value_or(Told{told.name, "auto"});
  if (told.value == "auto") return std::max(gpus, 1);
  if (told.value == "cpu") return cores;
  if (told.value == "gpu") {
    check(gpus > 0, "{} gpu: this node has none", told.name);
    return gpus;
  }
  return count_of(told.name, told.value, 1);
}

}  // namespace

NodePlace find_node(const Settings& s, const Environment& env, int gpus, int cores) {
  NodePlace p{.ranks = ranks_of(s, env, gpus, cores)};
  if (s.standalone) return p;
  const Source source = source_in(env);
  std::optional<Told> node = variable(env, source.node), nodes = variable(env, source.nodes);
  if (!nodes && is_task_of_srun(env)) nodes = variable(env, "SLURM_NNODES");
  if (!s.nnodes.empty()) nodes = Told{"--nnodes", s.nnodes};
  if (s.node_rank >= 0) node = Told{"--node-rank", std::to_string(s.node_rank)};
  if (!nodes) return p;
  take_nodes(*nodes, p);
  if (p.nodes == 1) return p;
  check(node.has_value(),
        "the index of this node among {} nodes is unknown: give --node-rank R, from 0, a different one on each node",
        p.nodes);
  p.node = count_of(node->name, node->value, 0);
  check(p.node < p.nodes, "{} {} is not below {} {}: nodes are numbered from 0", node->name, p.node, nodes->name,
        p.nodes);
  const auto task = variable(env, "SLURM_LOCALID");
  check(!task || task->value == "0" || !is_task_of_srun(env),
        "this is task {} of its node: start one `megalith launch` per node, with srun --ntasks-per-node 1",
        task ? task->value : "");
  find_endpoint(s, env, source, p);
  return p;
}

std::string first_host(const std::string& list) {
  const size_t bracket = list.find('['), end = std::min(list.find(','), list.size());
  if (bracket > end) return list.substr(0, end);
  const size_t number_end = list.find_first_of(",-]", bracket);
  if (number_end == std::string::npos) return list;
  const size_t close = list.find(']', bracket), next = std::min(list.find(',', close), list.size());
  return list.substr(0, bracket) + list.substr(bracket + 1, number_end - bracket - 1) +
         list.substr(close + 1, next - close - 1);
}

int count_gpus(const Environment& env) {
  if (const char* visible = env("CUDA_VISIBLE_DEVICES")) {
    const std::string text = visible;
    return text.empty() || text[0] == '-' ? 0 : int(std::ranges::count(text, ',')) + 1;
  }
  int gpus = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", error)) {
    const std::string name = entry.path().filename().string(), kind = "nvidia";
    gpus += name.size() > kind.size() && name.starts_with(kind) &&
            std::all_of(name.begin() + std::ptrdiff_t(kind.size()), name.end(),
                        [](unsigned char c) { return std::isdigit(c); });
  }
  return gpus;
}

}  // namespace megalith::launch
