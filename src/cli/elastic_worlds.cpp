#include "cli/elastic_worlds.h"

#include "base/check.h"
#include "cli/training_line.h"
#include "settings/batch_sizes.h"

namespace megalith {

// Whether the layout, with the data-parallel size of this many ranks, divides every later global batch.
static bool can_share(Options o, int ranks) {
  ParallelConfig& p = o.parallel;
  p.world_size = ranks;
  const i64 experts = p.expert_tensor_size() * p.expert_model_parallel_size;
  if (ranks % p.model_parallel_size() != 0 || (ranks / p.stages()) % std::max<i64>(experts, 1) != 0) return false;
  const BatchSizes sizes(o);
  return std::ranges::all_of(sizes.from(0), [&](i64 size) { return size > 0 && size % sizes.at_once() == 0; });
}

launch::Worlds elastic_worlds(const std::vector<std::string>& command) {
  if (command[0].find('/') != std::string::npos || !command[0].starts_with("pretrain"))
    return [](int live) { return live; };
  std::vector<const char*> words;
  for (const std::string& word : command) words.push_back(word.c_str());
  const Options options = read_training_line(int(words.size()), words.data()).read();
  check(options.train.global_batch_size > 0,
        "--nnodes MIN:MAX and --min-ranks need --global-batch-size: otherwise it depends on the number of ranks");
  check(options.parallel.layout == LayoutChoice::flags,
        "--layout auto is not built for --nnodes MIN:MAX and --min-ranks: give the layout by its flags");
  return [options](int live) {
    while (live > 0 && !can_share(options, live)) --live;
    return live;
  };
}

}  // namespace megalith
