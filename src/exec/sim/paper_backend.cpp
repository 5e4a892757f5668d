#include "exec/sim/paper_backend.h"

#include <set>
#include <tuple>

#include "base/process_memory.h"
#include "exec/cuda_needs/coded_tiles.h"
#include "exec/cuda_needs/symmetric_needs.h"
#include "exec/sim/paper_interpreter.h"
#include "exec/sim/paper_libraries.h"
#include "exec/sim/symmetric_ranks.h"
#include "ops/overlapped_product.h"
#include "plan/unverified.h"

namespace megalith::sim {

namespace {

// Blocks that communicators run on (exec/cuda/nccl/comms.cpp): in line, on lanes, between pipeline stages.
constexpr i64 kInLine = 32, kOnLane = 24, kLinkBlocks = 2;

struct CommunicatorNeeds {
  i64 blocks = 0;        // of NCCL's communicators
  std::set<int> mapped;  // ranks whose memory is mapped
};

// Each set of ranks has a communicator for each lane, and another for all-to-all. Ranks of several stages have other
// plans, so their memory is not symmetric.
CommunicatorNeeds communicator_needs(const Plan& plan, const Coord& coord, const DeviceFacts& facts,
                                     bool symmetric_memory) {
  std::set<std::tuple<bool, bool, int, std::vector<int>>> communicators;
  for (const Program& p : plan.programs)
    for (const Instruction& in : p.instructions)
      if (const auto* op = relayout_of(in.op); op && !is_local(op->transfer)) {
        const bool pairs = op->transfer == Transfer::all_to_all || op->transfer == Transfer::rotate;
        const bool stages = plan.mesh.n(op->axes & groups::pipeline) > 1;
        if (auto ranks = op->group(plan.mesh, coord); ranks.size() > 1)
          communicators.insert({pairs, stages, op->lane, ranks});
      }
  CommunicatorNeeds needs;
  for (const auto& [pairs, stages, lane, ranks] : communicators)
    if (symmetric_memory && !pairs && !stages && have_symmetric_memory(ranks, facts))
      needs.mapped.insert(ranks.begin(), ranks.end());
    else
      needs.blocks += lane ? kOnLane : kInLine;
  needs.mapped.erase(plan.mesh.rank(coord));
  return needs;
}

class Paper final : public PaperBackend, public TellsWorkspaces {
 public:
  Paper(std::shared_ptr<const DeviceFacts> facts, bool symmetric_memory)
      : owned_(std::move(facts)), facts_(*owned_), symmetric_memory_(symmetric_memory), libraries_(facts_) {}
  std::string name() const override { return "cuda"; }
  std::string device_name() const override {
    return fmt::format("{} ({}, facts {}measured)", facts_.device, facts_.name, facts_.measured ? "" : "not ");
  }
  i64 workspace_bytes(const Graph& g, const Node& n) const override {
    cuda::LocalNode node{g.mesh, Coord{}, {}, {}, gpu()};
    for (Value v : n.ins) node.ins.push_back(g.type(v));
    for (Value v : n.outs) node.outs.push_back(g.type(v));
    return cuda::needed_workspace(n.op, node, libraries_);
  }
  bool has_coded_kernel(const Graph& g, const Node& n) const override { return cuda::has_coded_kernel(g, n, gpu()); }
  bool may_need_workspace(const AnyOp& op) const override { return cuda::may_need_workspace(op); }
  i64 fixed_bytes() const override { return facts_.reserved_bytes + comms_bytes_; }
  i64 available_bytes() const override { return facts_.memory_bytes; }
  i64 peak_bytes() const override { return 0; }
  std::optional<i64> host_bytes() const override { return resident_bytes(); }
  void connect(const Plan& plan, const Coord& coord, std::span<const Link> links) const override {
    const CommunicatorNeeds needs = communicator_needs(plan, coord, facts_, symmetric_memory_);
    const i64 blocks = needs.blocks + kLinkBlocks * i64(links.size());
    comms_bytes_ = (blocks > 0 ? facts_.nccl_bytes + blocks * facts_.nccl_bytes_each : 0) +
                   i64(needs.mapped.size()) * cuda::mapping_bytes(plan.arena_bytes);
  }
  std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const override {
    return make_paper_interpreter(plan, coord, facts_);
  }
  const DeviceFacts& facts() const override { return facts_; }
  std::vector<std::string> bounded() const override { return libraries_.lines(); }

 private:
  cuda::GpuSizes gpu() const { return {facts_.sms, facts_.shared_memory, facts_.capability, facts_.memory_bytes}; }

  std::shared_ptr<const DeviceFacts> owned_;
  const DeviceFacts& facts_;
  const bool symmetric_memory_;
  PaperLibraries libraries_;
  mutable i64 comms_bytes_ = 0;
};

}  // namespace

std::unique_ptr<PaperBackend> make_paper_backend(DeviceFacts facts, bool symmetric_memory) {
  return make_shared_paper_backend(std::make_shared<const DeviceFacts>(std::move(facts)), symmetric_memory);
}

std::unique_ptr<PaperBackend> make_shared_paper_backend(std::shared_ptr<const DeviceFacts> facts,
                                                        bool symmetric_memory) {
  check(facts->sms > 0 && facts->capability > 0, "device {}: its facts have no sms or no capability: it is no GPU",
        facts->name);
  return std::make_unique<Paper>(std::move(facts), symmetric_memory);
}

}  // namespace megalith::sim
