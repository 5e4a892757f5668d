#include "observe/sinks/tokens_per_expert.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/moe_tallies.h"
#include "observe/sinks/json_lines.h"

namespace megalith {

static constexpr const char* kWhat = "file of experts' tokens";

TokensPerExpert::TokensPerExpert(const std::filesystem::path& folder, i64 iteration, i64 every,
                                 const ModelConfig& model)
    : file_(at_iteration(folder / "tokens_per_expert" / "rank0.jsonl", iteration, {kWhat, "tokens", "iter"}), kWhat),
      every_(every),
      layers_(model.num_layers),
      mixtures_(mixture_layers(model)) {}

void TokensPerExpert::take(const Record& record) {
  if (record.iteration % every_ != 0) return;
  std::string lines;
  for (const i64 layer : mixtures_) {
    const auto there = std::ranges::find(record.tallies, tokens_tally(layer), &Tallied::name);
    if (there == record.tallies.end()) continue;
    nlohmann::ordered_json line{{"iter", record.iteration}, {"block", layer < layers_ ? "decoder" : "mtp"}};
    if (layer >= layers_) line["mtp_idx"] = layer - layers_;
    line["layer"] = layer < layers_ ? layer : 0;
    line["tpe"] = {std::vector<i64>(there->numbers.begin(), there->numbers.end())};
    lines += line.dump() + "\n";
  }
  if (!lines.empty()) file_.append(lines);
}

}  // namespace megalith
