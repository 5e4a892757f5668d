#include "search/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace megalith::search {

namespace {

std::vector<i64> divisors(i64 n, i64 most) {
  std::vector<i64> out;
  for (i64 d = 1; d <= std::min(n, most); ++d)
    if (n % d == 0) out.push_back(d);
  return out;
}

// Powers of two: other micro-batch sizes gain nothing.
std::vector<i64> micro_batches(i64 global_batch) {
  constexpr i64 kMost = 16;
  std::vector<i64> out;
  for (i64 b = 1; b <= std::min(kMost, global_batch); b *= 2)
    if (global_batch % b == 0) out.push_back(b);
  return out;
}

template <class T>
std::vector<T> fixed_or(bool given, T value, std::vector<T> free) {
  return given ? std::vector<T>{value} : free;
}

i64 virtual_stages(const ParallelConfig& p, i64 layers, i64 pp) {
  if (const i64 each = p.num_layers_per_virtual_pipeline_stage) return std::max<i64>(1, layers / pp / each);
  return std::max<i64>(1, p.num_virtual_stages_per_pipeline_rank);
}

class Enumeration {
 public:
  Enumeration(const Space& space, const Options& base, i64 gpus, Reasons& reasons, std::vector<Unfit>* unfit)
      : space_(space), base_(base), gpus_(gpus), reasons_(reasons), unfit_(unfit) {}

  std::vector<Choice> all() {
    for (const i64 tp : space_.tp)
      for (const i64 pp : space_.pp)
        for (const i64 cp : space_.cp) add_ranks({.tp = tp, .pp = pp, .cp = cp});
    return std::move(out_);
  }

 private:
  bool refuse(bool broken, const char* reason, const Choice& c) {
    if (!broken) return false;
    Refused& r = reasons_[reason];
    if (r.count++ == 0) r.example = to_string(c);
    if (unfit_) unfit_->push_back({c, reason});
    return true;
  }

  // Experts stay within a site, like a replica.
  void add_ranks(Choice c) {
    const ModelConfig& m = base_.model;
    if (refuse(gpus_ % (c.tp * c.pp * c.cp) != 0, "the GPUs are not a multiple of tp x pp x cp", c)) return;
    if (refuse(m.num_attention_heads % c.tp != 0, "the attention heads are not a multiple of tp", c)) return;
    if (refuse(c.pp > m.num_layers, "more stages than layers", c)) return;
    if (refuse(c.cp > 1 && m.seq_length % (2 * c.cp) != 0, "the sequence length is not a multiple of 2 cp", c)) return;
    const bool crosses = space_.site_gpus > 0 && space_.site_gpus % (c.tp * c.pp * c.cp) != 0;
    if (refuse(crosses, "the GPUs of a site are not a multiple of tp x pp x cp", c)) return;
    const i64 stage = (space_.site_gpus > 0 ? space_.site_gpus : gpus_) / c.pp;
    for (const i64 ep : space_.ep) {
      c.ep = ep;
      const std::vector<i64> all = !space_.etp.empty() ? space_.etp
                                   : m.moe.num_experts ? expert_ranks(c)
                                                       : std::vector{c.tp};
      for (const i64 etp : all) {
        c.etp = etp;
        if (refuse(stage % (c.ep * c.etp) != 0, "the GPUs of a stage are not a multiple of ep x etp", c)) continue;
        add_batches(c);
      }
    }
  }

  // Whole experts, or experts that are cut like all other weights.
  static std::vector<i64> expert_ranks(const Choice& c) {
    return c.tp == 1 ? std::vector<i64>{1} : std::vector<i64>{1, c.tp};
  }

  void add_batches(Choice c) {
    const i64 dp = gpus_ / (c.tp * c.pp * c.cp);
    for (const i64 b : space_.micro_batch) {
      c.micro_batch = b;
      const i64 batch = base_.train.global_batch_size;
      const bool rounds = base_.train.decrease_batch_size_if_needed;
      if (refuse(batch % (b * dp) != 0 && !rounds, "the global batch is not a multiple of micro-batch x dp", c))
        continue;
      if (refuse(batch < b * dp, "the global batch is below micro-batch x dp", c)) continue;
      for (const CpCommType comm : c.cp == 1 ? std::vector{space_.cp_comm.front()} : space_.cp_comm) {
        c.cp_comm = comm;
        add_stages(c);
      }
    }
  }

  void add_stages(Choice c) {
    for (const bool zero_bubble : c.pp == 1 ? std::vector<bool>{false} : space_.zero_bubble)
      for (const bool balanced : c.pp == 1 ? std::vector<bool>{false} : space_.balanced)
        for (const i64 vpp : pieces(c)) {
          if (zero_bubble && space_.offload) continue;  // the rules refuse both together
          c.zero_bubble = zero_bubble, c.balanced = balanced, c.vpp = vpp;
          const bool uneven = base_.given.has("decoder-first-pipeline-num-layers") ||
                              base_.given.has("decoder-last-pipeline-num-layers") ||
                              base_.given.has("pipeline-model-parallel-layout") ||
                              base_.parallel.account_for_embedding_in_pipeline_split ||
                              base_.parallel.account_for_loss_in_pipeline_split;
          if (refuse(!balanced && !uneven && base_.model.num_layers % (c.pp * c.vpp) != 0,
                     "the layers are not a multiple of pp x vpp", c))
            continue;
          add_rest(c);
        }
  }

  std::vector<i64> pieces(const Choice& c) const {
    if (c.pp == 1) return {1};
    if (!space_.vpp.empty()) return {virtual_stages(base_.parallel, base_.model.num_layers, c.pp)};
    const i64 layers = std::max<i64>(1, base_.model.num_layers / c.pp);
    constexpr i64 kMost = 8;
    return divisors(layers, kMost);
  }

  void add_rest(Choice c) {
    const i64 shared = gpus_ / (c.tp * c.pp);
    for (const Recompute level : space_.recompute)
      for (const bool sharded : shared == 1 ? std::vector<bool>{true} : space_.sharded) {
        for (const bool overlap : c.tp == 1 ? std::vector<bool>{false} : space_.tp_overlap) {
          c.recompute = level, c.sharded = sharded, c.offload = space_.offload, c.tp_overlap = overlap;
          out_.push_back(c);
        }
      }
  }

  const Space& space_;
  const Options& base_;
  const i64 gpus_;
  Reasons& reasons_;
  std::vector<Unfit>* unfit_;
  std::vector<Choice> out_;
};

}  // namespace

Space space_of(const Options& base, i64 gpus, i64 most_tp) {
  const ParallelConfig& p = base.parallel;
  const config::Given& given = base.given;
  const auto has = [&](const char* field) { return given.has(field); };
  Space s;
  s.tp = fixed_or(has("tensor-model-parallel-size"), p.tensor_model_parallel_size, divisors(gpus, most_tp));
  const i64 layers = std::max<i64>(1, base.model.num_layers);
  s.pp = fixed_or(has("pipeline-model-parallel-size"), p.pipeline_model_parallel_size, divisors(gpus, layers));
  const i64 tokens = std::max<i64>(1, base.model.seq_length / 1024);  // tokens of a rank; fewer gain nothing
  s.cp = fixed_or(has("context-parallel-size"), p.context_parallel_size, divisors(gpus, tokens));
  const i64 experts = base.model.moe.num_experts;
  s.ep = fixed_or(has("expert-model-parallel-size"), p.expert_model_parallel_size,
                  experts ? divisors(experts, gpus) : std::vector<i64>{1});
  if (has("expert-tensor-parallel-size") && p.expert_tensor_parallel_size) s.etp = {p.expert_tensor_parallel_size};
  s.micro_batch = fixed_or(has("micro-batch-size"), base.train.micro_batch_size,
                           micro_batches(std::max<i64>(1, base.train.global_batch_size)));
  s.cp_comm = fixed_or(has("cp-comm-type"), p.cp_comm_type, {CpCommType::all_gather, CpCommType::a2a, CpCommType::p2p});
  if (has("num-virtual-stages-per-pipeline-rank") || has("num-layers-per-virtual-pipeline-stage") ||
      has("pipeline-model-parallel-layout"))
    s.vpp = {1};
  const bool drawn = has("pipeline-model-parallel-layout") || has("decoder-first-pipeline-num-layers") ||
                     has("decoder-last-pipeline-num-layers") || has("num-layers-per-virtual-pipeline-stage") ||
                     has("account-for-embedding-in-pipeline-split") || has("account-for-loss-in-pipeline-split");
  s.balanced = fixed_or<bool>(drawn, p.pipeline_layout == "auto", {false, true});
  s.zero_bubble =
      fixed_or<bool>(has("pipeline-schedule"), p.pipeline_schedule == PipelineSchedule::zero_bubble, {false, true});
  s.sharded = fixed_or<bool>(has("use-distributed-optimizer"), p.use_distributed_optimizer, {true, false});
  s.tp_overlap = fixed_or<bool>(has("tp-comm-overlap"), p.tp_comm_overlap, {false, true});
  s.recompute =
      fixed_or(has("recompute-granularity"), Recompute::flags, {Recompute::none, Recompute::parts, Recompute::full});
  return s;
}

std::vector<Choice> choices_of(const Space& space, const Options& base, i64 gpus, Reasons& reasons,
                               std::vector<Unfit>* unfit) {
  return Enumeration(space, base, gpus, reasons, unfit).all();
}

}  // namespace megalith::search
