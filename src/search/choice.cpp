#include "search/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/check.h"

namespace megalith::search {

namespace {

constexpr const char* kCpComm[] = {"all_gather", "a2a", "p2p"};
constexpr const char* kRecompute[] = {"recompute-flags", "recompute-none", "recompute-parts", "recompute-full"};

// All words, also those of default values.
std::vector<std::string> words_of(const Choice& c) {
  return {fmt::format("tp{}", c.tp),
          fmt::format("pp{}", c.pp),
          fmt::format("vpp{}", c.vpp),
          fmt::format("cp{}", c.cp),
          c.cp > 1 ? kCpComm[int(c.cp_comm)] : "",
          fmt::format("ep{}", c.ep),
          fmt::format("etp{}", c.etp),
          fmt::format("mbs{}", c.micro_batch),
          kRecompute[int(c.recompute)],
          c.pp == 1       ? ""
          : c.zero_bubble ? "zero-bubble"
                          : "1f1b",
          c.pp == 1    ? ""
          : c.balanced ? "balanced"
                       : "even",
          c.offload ? "offload" : "no-offload",
          c.sharded ? "sharded" : "replicated",
          c.tp == 1      ? ""
          : c.tp_overlap ? "tp-overlap"
                         : "no-tp-overlap"};
}

bool is_plain(const std::string& word) {
  for (const char* plain : {"", "vpp1", "cp1", "ep1", "etp1", "recompute-none", "recompute-flags", "1f1b", "even",
                            "no-offload", "sharded", "no-tp-overlap"})
    if (word == plain) return true;
  return false;
}

bool is_size(const std::string& word) {
  for (const char* axis : {"tp", "pp", "vpp", "cp", "ep", "etp", "mbs"}) {
    const std::string digits = word.starts_with(axis) ? word.substr(std::string_view(axis).size()) : "";
    if (!digits.empty() && digits.size() < 8 &&
        std::ranges::all_of(digits, [](char d) { return d >= '0' && d <= '9'; }))
      return true;
  }
  return false;
}

bool is_known(const std::string& word) {
  if (is_size(word)) return true;
  const auto among = [&](const auto& list) { return std::ranges::find(list, word) != std::end(list); };
  return among(kCpComm) || among(kRecompute) ||
         among(std::vector<std::string>{"1f1b", "zero-bubble", "even", "balanced", "offload", "no-offload", "sharded",
                                        "replicated", "tp-overlap", "no-tp-overlap"});
}

RecomputeConfig recompute_of(const Options& base, Recompute level) {
  using Granularity = RecomputeConfig::Granularity;
  switch (level) {
    case Recompute::flags:
      return base.recompute;
    case Recompute::none:
      return {};
    case Recompute::full:
      return {Granularity::full, RecomputeConfig::Method::uniform, 1, {}};
    case Recompute::parts:
      break;
  }
  RecomputeConfig parts;
  parts.granularity = Granularity::selective;
  const bool mixture = base.model.moe.num_experts > 0;
  const std::vector<bool> pattern = mixture ? base.model.moe.pattern(base.model.num_layers) : std::vector<bool>{};
  if (mixture) parts.modules = {"moe"};
  if (!mixture || std::ranges::find(pattern, false) != pattern.end()) parts.modules.push_back("mlp");
  return parts;
}

}  // namespace

std::string to_string(const Choice& c) {
  const std::string as_tensor = fmt::format("etp{}", c.tp);  // cut like all other weights
  std::string out;
  for (const std::string& word : words_of(c))
    if (!is_plain(word) && word != as_tensor) out += (out.empty() ? "" : " ") + word;
  return out;
}

Wanted parse_wanted(const std::string& text) {
  Wanted out;
  std::istringstream in(text);
  for (std::string word; in >> word; out.words.push_back(word))
    check(is_known(word), "--explain {}: {} is no part of a layout: write it as in \"tp8 pp4 mbs1 recompute-full\"",
          text, word);
  return out;
}

bool Wanted::holds(const Choice& c) const {
  if (words.empty()) return true;
  const std::vector<std::string> all = words_of(c);
  return std::ranges::all_of(words, [&](const auto& word) { return std::ranges::find(all, word) != all.end(); });
}

Options with(const Options& base, const Choice& c, const std::string& layout) {
  Options o = base;
  ParallelConfig& p = o.parallel;
  p.tensor_model_parallel_size = c.tp, p.pipeline_model_parallel_size = c.pp, p.context_parallel_size = c.cp;
  p.expert_model_parallel_size = c.ep, p.expert_tensor_parallel_size = c.etp == c.tp ? 0 : c.etp;
  p.cp_comm_type = c.cp_comm;
  p.pipeline_schedule = c.zero_bubble ? PipelineSchedule::zero_bubble : PipelineSchedule::one_f_one_b;
  if (c.balanced) p.pipeline_layout = layout.empty() ? "auto" : layout;
  const bool drawn = c.balanced && !layout.empty();
  if (drawn) o.given.uses.erase("num-virtual-stages-per-pipeline-rank");  // the layout's text sets it
  if (!base.parallel.num_layers_per_virtual_pipeline_stage || c.balanced)
    p.num_virtual_stages_per_pipeline_rank = c.vpp > 1 && !drawn ? c.vpp : 0;
  const i64 shared = p.data_parallel_size() * c.cp;
  p.use_distributed_optimizer = c.sharded && shared > 1;
  if (!o.given.has("sequence-parallel")) p.sequence_parallel = c.tp > 1;
  if (!o.given.has("tp-comm-overlap")) p.tp_comm_overlap = c.tp_overlap && c.tp > 1;
  if (!o.given.has("overlap-grad-reduce")) p.overlap_grad_reduce = shared > 1;
  if (!o.given.has("overlap-param-gather")) p.overlap_param_gather = p.use_distributed_optimizer;
  o.train.micro_batch_size = c.micro_batch;
  o.recompute = recompute_of(base, c.recompute);
  if (c.offload) o.offload.on = true;
  o.model.padded_vocab_size = base.given.has("padded-vocab-size") ? base.model.padded_vocab_size : 0;
  derive(o);
  return o;
}

std::vector<std::string> flags_of(const Options& base, const Choice& c) {
  std::vector<std::string> out;
  const Options o = with(base, c);
  const auto number = [&](const char* flag, i64 value, bool said) {
    if (said) out.insert(out.end(), {flag, std::to_string(value)});
  };
  const auto on = [&](const char* flag, bool said) {
    if (said) out.push_back(flag);
  };
  number("--tensor-model-parallel-size", c.tp, true);
  on("--sequence-parallel", o.parallel.sequence_parallel);
  on("--tp-comm-overlap", o.parallel.tp_comm_overlap);
  number("--pipeline-model-parallel-size", c.pp, true);
  if (c.balanced) out.insert(out.end(), {"--pipeline-model-parallel-layout", "auto"});
  number("--num-virtual-stages-per-pipeline-rank", c.vpp, o.parallel.num_virtual_stages_per_pipeline_rank > 1);
  if (c.zero_bubble) out.insert(out.end(), {"--pipeline-schedule", "zero-bubble"});
  number("--context-parallel-size", c.cp, c.cp > 1);
  if (c.cp > 1) out.insert(out.end(), {"--cp-comm-type", kCpComm[int(c.cp_comm)]});
  number("--expert-model-parallel-size", c.ep, c.ep > 1);
  number("--expert-tensor-parallel-size", c.etp, o.parallel.expert_tensor_parallel_size > 0);
  number("--micro-batch-size", c.micro_batch, true);
  on("--use-distributed-optimizer", o.parallel.use_distributed_optimizer);
  on("--overlap-grad-reduce", o.parallel.overlap_grad_reduce);
  on("--overlap-param-gather", o.parallel.overlap_param_gather);
  if (c.recompute == Recompute::full)
    out.insert(out.end(),
               {"--recompute-granularity", "full", "--recompute-method", "uniform", "--recompute-num-layers", "1"});
  if (c.recompute == Recompute::parts) {
    out.insert(out.end(), {"--recompute-granularity", "selective", "--recompute-modules"});
    out.insert(out.end(), o.recompute.modules.begin(), o.recompute.modules.end());
  }
  on("--fine-grained-activation-offloading", c.offload && !base.offload.on);
  return out;
}

}  // namespace megalith::search
