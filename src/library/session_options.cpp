#include "library/session_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/mistakes.h"
#include "complete/complete_options.h"

namespace megalith {
namespace {

// The fields of a run that have a meaning if the caller has the loop.
const std::set<std::string, std::less<>>& taken() {
  static const std::set<std::string, std::less<>> fields = {"micro-batch-size",
                                                            "global-batch-size",
                                                            "rampup-batch-size",
                                                            "step-batch-size-schedule",
                                                            "decrease-batch-size-if-needed",
                                                            "train-iters",
                                                            "train-samples",
                                                            "eval-iters",
                                                            "seed",
                                                            "bf16",
                                                            "fp16",
                                                            "device",
                                                            "cpu-kernels",
                                                            "gemm-cache-file",
                                                            "check-for-nan-in-loss-and-grad",
                                                            "ckpt-format",
                                                            "load",
                                                            "ckpt-step",
                                                            "finetune",
                                                            "moe-use-upcycling",
                                                            "moe-upcycling-granularity",
                                                            "no-load-optim",
                                                            "no-load-rng",
                                                            "exit-on-missing-checkpoint",
                                                            "log-num-zeros-in-grad"};
  return fields;
}

template <class Config>
void refuse(const Options& o, Config of, const char* instead, std::vector<std::string>& wrong) {
  const config::FieldList fields = config::fields_of(of);
  for (const config::Field& f : fields.all())
    if (o.given.has(f.name) && !taken().contains(f.name)) wrong.push_back(fmt::format("--{}: {}", f.name, instead));
}

void refuse_commands_own(Options& o) {
  refuse(o, o.train, "the command's loop does this, a session does not: leave it out", o.wrong.mistakes);
  refuse(o, o.data, "a session's batches come from its caller: leave it out", o.wrong.mistakes);
  if (o.given.has("architecture") && o.model.architecture != Architecture::gpt)
    o.wrong.mistakes.push_back(
        fmt::format("--architecture {}: a session trains a gpt: leave it out", name_of(o.model.architecture)));
  if (o.parallel.layout == LayoutChoice::automatic)
    o.wrong.mistakes.push_back("--layout auto: a session has the layout that its flags give: leave it out");
  if (o.given.has("world-size"))
    o.wrong.mistakes.push_back("--world-size: the session's options say how many ranks there are: leave it out");
}

// Refuses flags for parts of a GPT.
void refuse_gpts_own(Options& o) {
  static const std::set<std::string, std::less<>> sizes = {"seq-length", "vocab-size"};
  const char* instead = "the model is the caller's own: leave it out";
  const auto refuse_all = [&](const config::FieldList& fields) {
    for (const config::Field& f : fields.all())
      if (o.given.has(f.name) && !sizes.contains(f.name))
        o.wrong.mistakes.push_back(fmt::format("--{}: {}", f.name, instead));
  };
  ModelConfig model;
  RecomputeConfig recompute;
  OffloadConfig offload;
  QuantizeConfig quantize;
  refuse_all(config::fields_of(model)), refuse_all(config::fields_of(recompute));
  refuse_all(config::fields_of(offload)), refuse_all(config::fields_of(quantize));
  const ParallelConfig& p = o.parallel;
  if (p.stages() > 1 || p.context_parallel_size > 1 || p.expert_model_parallel_size > 1)
    o.wrong.mistakes.push_back(
        "--pipeline-model-parallel-size, --context-parallel-size, --expert-model-parallel-size: ranks of the caller's "
        "own model are data- and tensor-parallel ones: leave them out");
  if (p.sequence_parallel) o.wrong.mistakes.push_back(fmt::format("--sequence-parallel: {}", instead));
  for (const char* flag : {"seq-length", "vocab-size"})
    if (!o.given.has(flag)) o.wrong.mistakes.push_back(fmt::format("--{} is required: batches have it", flag));
}

// Sets sizes of a small GPT, because the rules between flags need some.
void stand_in_for_gpt(Options& o) {
  const i64 ranks = std::max<i64>(1, o.parallel.tensor_model_parallel_size);
  o.model.num_layers = 1, o.model.hidden_size = 8 * ranks, o.model.num_attention_heads = ranks;
}

}  // namespace

Options session_options(const std::vector<std::string>& words, const SessionShape& shape) {
  std::vector<const char*> argv = {"megalith"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  try {
    Options o = read_options(int(argv.size()), argv.data());
    check(!o.help, "--help: `megalith pretrain-gpt --help` prints the flags");
    refuse_commands_own(o);
    o.trains = o.model.architecture = Architecture::gpt;
    o.data.mock_data = true;  // the rules need data; the caller's batches come from no flag
    o.parallel.world_size = shape.world_size;
    if (shape.own_model) refuse_gpts_own(o), stand_in_for_gpt(o);
    complete_options(o, read_sources(o));
    return o;
  } catch (const Mistakes& e) {
    fail("{}", fmt::join(e.lines, "; "));
  }
}

}  // namespace megalith
