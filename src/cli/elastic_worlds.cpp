#include "cli/elastic_worlds.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>

#include "base/check.h"
#include "base/one_line.h"
#include "cli/training_line.h"
#include "complete/complete_options.h"
#include "config/field.h"
#include "config/file.h"
#include "settings/batch_sizes.h"

namespace megalith {
namespace {

struct RankLayout {
  Options options;
  std::string flags;         // after those of the command
  std::vector<int> most{0};  // by number of available ranks: the ranks that run
};

// Whether the layout, with the data-parallel size of this many ranks, divides every later global batch.
bool can_share(Options o, int ranks) {
  ParallelConfig& p = o.parallel;
  p.world_size = ranks;
  const i64 experts = p.expert_tensor_size() * p.expert_model_parallel_size;
  if (ranks % p.model_parallel_size() != 0 || (ranks / p.stages()) % std::max<i64>(experts, 1) != 0) return false;
  const BatchSizes sizes(o);
  return std::ranges::all_of(sizes.from(0), [&](i64 size) { return size > 0 && size % sizes.at_once() == 0; });
}

std::vector<std::string> words_in(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// The command with other flags after its own.
class Command {
 public:
  explicit Command(TrainingLine line) : line_(std::move(line)), own_(line_.read()), completed_(own_) {
    complete_model(completed_, read_sources(completed_));
  }
  const Options& own() const { return own_; }

  // Error if a rule between flags is broken at the smallest number of ranks.
  RankLayout with(const std::vector<std::string>& flags) const {
    Options o = line_.read(flags);
    check(text_of(o.model) == text_of(own_.model), "a layout must not change the model");
    check(o.train.global_batch_size == own_.train.global_batch_size, "a layout must not change --global-batch-size {}",
          own_.train.global_batch_size);
    ParallelConfig& p = o.parallel;
    p.world_size =
        std::lcm(p.model_parallel_size(), p.stages() * p.expert_tensor_size() * p.expert_model_parallel_size);
    o.model = completed_.model, o.data = completed_.data, o.tokenizer = completed_.tokenizer;
    finish_options(o);
    return {o, fmt::format("{}", fmt::join(flags, " "))};
  }

 private:
  static std::string text_of(ModelConfig model) { return config::to_json(config::fields_of(model)); }

  const TrainingLine line_;
  const Options own_;
  Options completed_;  // with what the checkpoint and the tokenizer tell
};

// The sizes, joined as flags. Virtual stages need a pipeline.
std::string flags_of(const ParallelConfig& p, const ParallelConfig& own) {
  std::string flags;
  const auto add = [&](const char* flag, i64 size, i64 before) {
    if (size != before) flags += fmt::format("{}{} {}", flags.empty() ? "" : " ", flag, size);
  };
  add("--tensor-model-parallel-size", p.tensor_model_parallel_size, own.tensor_model_parallel_size);
  add("--pipeline-model-parallel-size", p.pipeline_model_parallel_size, own.pipeline_model_parallel_size);
  add("--context-parallel-size", p.context_parallel_size, own.context_parallel_size);
  add("--expert-model-parallel-size", p.expert_model_parallel_size, own.expert_model_parallel_size);
  const bool has_pipeline = p.stages() > 1;
  add("--num-layers-per-virtual-pipeline-stage", has_pipeline ? own.num_layers_per_virtual_pipeline_stage : 0,
      own.num_layers_per_virtual_pipeline_stage);
  add("--num-virtual-stages-per-pipeline-rank", has_pipeline ? own.num_virtual_stages_per_pipeline_rank : 0,
      own.num_virtual_stages_per_pipeline_rank);
  return flags;
}

std::vector<i64> divisors(i64 n) {
  std::vector<i64> all;
  for (i64 d = n; d > 0; --d)
    if (n % d == 0) all.push_back(d);
  return all;
}

// More model-parallel ranks need less memory each, so these layouts come first.
std::vector<RankLayout> smaller_layouts(const Command& command) {
  const ParallelConfig& own = command.own().parallel;
  std::vector<RankLayout> all;
  ParallelConfig p = own;
  for (const i64 tp : divisors(own.tensor_model_parallel_size))
    for (const i64 cp : divisors(own.context_parallel_size))
      for (const i64 pp : divisors(own.pipeline_model_parallel_size))
        for (const i64 ep : divisors(own.expert_model_parallel_size)) try {
            p.tensor_model_parallel_size = tp, p.context_parallel_size = cp;
            p.pipeline_model_parallel_size = pp, p.expert_model_parallel_size = ep;
            const std::string flags = flags_of(p, own);
            if (flags.empty()) continue;
            all.push_back(command.with(words_in(flags)));
          } catch (const std::exception&) {  // not a layout of this model
          }
  std::ranges::stable_sort(all, std::greater(),
                           [](const RankLayout& l) { return l.options.parallel.model_parallel_size(); });
  return all;
}

std::vector<RankLayout> layouts_in(const std::string& path, const Command& command) {
  std::ifstream file(path);
  check(file.is_open(), "--elastic-layouts {}: this file cannot be read: give auto, or a file with a layout per line",
        path);
  std::vector<RankLayout> all;
  int number = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    const std::vector<std::string> words = words_in(text);
    if (words.empty() || words[0].starts_with('#')) continue;
    try {
      all.push_back(command.with(words));
    } catch (const std::exception& e) {
      fail("--elastic-layouts {}, line {}: {}", path, number, one_line(e));
    }
  }
  check(!all.empty(), "--elastic-layouts {} has no layout: write the flags of one per line", path);
  return all;
}

}  // namespace

launch::Worlds elastic_worlds(const std::vector<std::string>& command, const std::string& layouts) {
  if (command[0].find('/') != std::string::npos || !command[0].starts_with("pretrain"))
    return [](int live) { return live; };
  std::vector<const char*> words;
  for (const std::string& word : command) words.push_back(word.c_str());
  const TrainingLine line = read_training_line(int(words.size()), words.data());
  const Options options = line.read();
  check(options.train.global_batch_size > 0,
        "--nnodes MIN:MAX and --min-ranks need --global-batch-size: otherwise it depends on the number of ranks");
  check(options.parallel.layout == LayoutChoice::flags,
        "--layout auto is not built for --nnodes MIN:MAX and --min-ranks: give the layout by its flags");
  std::vector<RankLayout> all{{options, ""}};
  if (!layouts.empty()) {
    const Command own(line);
    std::ranges::move(layouts == "auto" ? smaller_layouts(own) : layouts_in(layouts, own), std::back_inserter(all));
  }
  return [all = std::move(all)](int live) mutable -> launch::World {
    for (RankLayout& l : all) {
      for (int n; (n = int(l.most.size())) <= live;) l.most.push_back(can_share(l.options, n) ? n : l.most.back());
      if (const int ranks = l.most[size_t(std::max(live, 0))]; ranks > 0) return {ranks, l.flags};
    }
    return {};
  };
}

}  // namespace megalith
