#include "search/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "config/field.h"

namespace megalith::search {

namespace {

// The fields whose flags come from flags_of().
const std::set<std::string, std::less<>>& chosen_fields() {
  static const std::set<std::string, std::less<>> fields = {"tensor-model-parallel-size",
                                                            "sequence-parallel",
                                                            "tp-comm-overlap",
                                                            "pipeline-model-parallel-size",
                                                            "context-parallel-size",
                                                            "cp-comm-type",
                                                            "expert-model-parallel-size",
                                                            "expert-tensor-parallel-size",
                                                            "micro-batch-size",
                                                            "use-distributed-optimizer",
                                                            "overlap-grad-reduce",
                                                            "overlap-param-gather",
                                                            "pipeline-schedule",
                                                            "world-size",
                                                            "layout",
                                                            "device",
                                                            "dry-run"};
  return fields;
}

std::string quoted(const std::string& word) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("-_./=:,+%@").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void add_field(std::vector<std::string>& out, const config::Field& field, const config::Given::Use& use) {
  const auto spelling = std::ranges::find(field.spellings, use.flag, &config::Spelling::flag);
  if (spelling != field.spellings.end() && spelling->constant) {
    const bool as_written = use.values == std::vector<std::string>{*spelling->constant};
    out.push_back(as_written ? use.flag : use.flag + "=false");
    return;
  }
  const bool converted = spelling != field.spellings.end() && spelling->convert;
  out.push_back(converted ? field.spellings.front().flag : use.flag);
  out.insert(out.end(), use.values.begin(), use.values.end());
}

}  // namespace

std::vector<std::string> words_of_run(const Options& base, const Choice& c, const Asked& asked) {
  Options o = base;
  const config::FieldList fields = config::fields_of(o);
  std::vector<std::string> out;
  for (const config::Field& field : fields.all()) {
    const auto use = base.given.uses.find(field.name);
    if (use == base.given.uses.end() || chosen_fields().contains(field.name)) continue;
    const bool pipelined = c.pp > 1 || !field.name.starts_with("num-virtual");
    const bool drawn = field.name == "pipeline-model-parallel-layout" && c.balanced;  // flags_of() gives it
    const bool counted = field.name == "num-virtual-stages-per-pipeline-rank";        // likewise
    if (pipelined && !drawn && !counted) add_field(out, field, use->second.back());
  }
  Options sized = base;
  sized.parallel.world_size = asked.gpus;
  const std::vector<std::string> chosen = flags_of(sized, c);
  out.insert(out.end(), chosen.begin(), chosen.end());
  if (asked.tokens > 0 && !base.given.has("train-iters") && !base.given.has("train-samples"))
    out.insert(out.end(),
               {"--train-samples", std::to_string(i64(std::ceil(asked.tokens / double(base.model.seq_length))))});
  return out;
}

std::string command_of(const Options& base, const Choice& c, const Asked& asked) {
  constexpr i64 kNode = 8;
  i64 each = std::min(kNode, asked.gpus);
  while (asked.gpus % each != 0) --each;
  std::string out = asked.gpus == 1 ? "megalith"
                    : asked.gpus <= kNode
                        ? fmt::format("torchrun --no-python --nproc-per-node {} megalith", each)
                        : fmt::format(
                              "torchrun --no-python --nnodes {} --nproc-per-node {} --rdzv-backend c10d "
                              "--rdzv-endpoint $MASTER_ADDR:29500 megalith",
                              asked.gpus / each, each);
  out += " pretrain-gpt";
  for (const std::string& word : words_of_run(base, c, asked)) out += " " + quoted(word);
  return out;
}

std::string still_missing(const Options& base, const Asked& asked) {
  std::vector<std::string> out;
  const config::Given& g = base.given;
  if (!g.has("train-iters") && !g.has("train-samples") && asked.tokens == 0) out.push_back("--train-iters");
  if (!g.has("lr")) out.push_back("--lr");
  if (base.data.ways_to_name_data() == 0) out.push_back("--data-path");
  return fmt::format("{}", fmt::join(out, ", "));
}

}  // namespace megalith::search
