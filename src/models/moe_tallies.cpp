#include "models/moe_tallies.h"

#include "models/blocks/router.h"

namespace megalith {

std::vector<i64> mixture_layers(const ModelConfig& config) {
  std::vector<i64> out;
  const std::vector<bool> mixtures = config.moe.pattern(config.num_layers);
  for (size_t i = 0; i < mixtures.size(); ++i)
    if (mixtures[i]) out.push_back(i64(i));
  for (i64 j = 0; j < config.mtp.num_layers && !mixtures.empty() && mixtures.back(); ++j)  // like the last layer
    out.push_back(config.num_layers + j);
  return out;
}

i64 mixture_layer(const ModelConfig& config, const Origin& at) {
  return at.stack.empty() ? at.layer : config.num_layers + at.layer;
}

bool tallies_tokens(const MoeConfig& config, const BuildMode& mode) {
  return mode.train && config.num_experts > 0 && (mode.tally_experts || config.router_enable_expert_bias);
}

std::string tokens_tally(i64 layer) { return fmt::format("tokens_layer_{}", layer); }
std::string loss_tally(const std::string& loss, i64 layer) { return fmt::format("{}_layer_{}", loss, layer); }

std::vector<TallySpec> mixture_tallies(const ModelConfig& config, const BuildMode& mode) {
  std::vector<TallySpec> out;
  for (const i64 layer : mixture_layers(config)) {
    if (tallies_tokens(config.moe, mode)) out.push_back({tokens_tally(layer), config.moe.num_experts});
    if (!mode.train || !mode.tally_layers) continue;
    for (const std::string& loss : router_terms(config.moe)) out.push_back({loss_tally(loss, layer)});
  }
  return out;
}

}  // namespace megalith
