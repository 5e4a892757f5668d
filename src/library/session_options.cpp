#include "library/session_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/mistakes.h"
#include "cli/model_source.h"

namespace megalith {
namespace {

// Of a run's own fields, those that mean something where the caller has the loop.
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
    o.wrong.mistakes.push_back("--layout auto: a session has one rank: leave it out");
  if (o.given.has("world-size")) o.wrong.mistakes.push_back("--world-size: a session has one rank: leave it out");
}

}  // namespace

Options session_options(const std::vector<std::string>& words) {
  std::vector<const char*> argv = {"megalith"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  try {
    Options o = read_options(int(argv.size()), argv.data());
    check(!o.help, "--help: `megalith pretrain-gpt --help` prints the flags");
    refuse_commands_own(o);
    o.trains = o.model.architecture = Architecture::gpt;
    o.data.mock_data = true;  // the rules ask for data, and the caller's batches are none of the data's flags
    o.parallel.world_size = 1;
    complete_model(o);
    finish_options(o);
    return o;
  } catch (const Mistakes& e) {
    fail("{}", fmt::join(e.lines, "; "));
  }
}

}  // namespace megalith
