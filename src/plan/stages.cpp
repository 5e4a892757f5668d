#include "plan/stages.h"

#include "base/check.h"

namespace megalith {

namespace {

// Layers of each rank.
std::vector<i64> rank_layers(const LayerSplit& s) {
  check(s.stages >= 1 && s.chunks >= 1, "layers for {} pipeline stages of {} virtual ones: give at least 1 of each",
        s.stages, s.chunks);
  check(s.layers >= 1, "{} layers to share out over {} pipeline stages: give at least 1", s.layers, s.stages);
  const bool given = s.first || s.last;
  check(!given || !(s.embedding_counts || s.loss_counts),
        "--decoder-first-pipeline-num-layers and --decoder-last-pipeline-num-layers do not go with "
        "--account-for-embedding-in-pipeline-split and --account-for-loss-in-pipeline-split: take one way to say the "
        "split");
  if (!given) {
    const i64 counted = s.layers + s.embedding_counts + s.loss_counts;
    check(counted % s.stages == 0,
          "{} layers{} do not divide by {} pipeline stages: --pipeline-model-parallel-layout auto shares them out, or "
          "take "
          "a multiple, --decoder-first-pipeline-num-layers or --decoder-last-pipeline-num-layers",
          counted, counted > s.layers ? " (embedding and loss counted)" : "", s.stages);
    return std::vector<i64>(s.stages, counted / s.stages);
  }
  check(s.stages > 1 && s.first.value_or(1) >= 1 && s.last.value_or(1) >= 1,
        "--decoder-first-pipeline-num-layers {} and --decoder-last-pipeline-num-layers {} with {} pipeline stages: "
        "give at least 1 layer and 2 stages",
        s.first.value_or(0), s.last.value_or(0), s.stages);
  const i64 middle = s.stages - s.first.has_value() - s.last.has_value();
  const i64 rest = s.layers - s.first.value_or(0) - s.last.value_or(0);
  check(middle > 0 ? rest >= middle && rest % middle == 0 : rest == 0,
        "{} of {} layers are left for the {} pipeline stages between those with a given number: leave a multiple, at "
        "least 1 each",
        rest, s.layers, middle);
  std::vector<i64> ranks(s.stages, middle > 0 ? rest / middle : 0);
  if (s.first) ranks.front() = *s.first;
  if (s.last) ranks.back() = *s.last;
  return ranks;
}

}  // namespace

std::vector<i64> split_layers(const LayerSplit& s) {
  const std::vector<i64> ranks = rank_layers(s);
  std::vector<i64> counts;
  for (int c = 0; c < s.chunks; ++c)
    for (int r = 0; r < s.stages; ++r) {
      check(ranks[r] % s.chunks == 0,
            "the {} layers of pipeline stage {} do not divide by {} virtual stages: take a divisor of {}, or "
            "--pipeline-model-parallel-layout auto",
            ranks[r], r, s.chunks, ranks[r]);
      counts.push_back(ranks[r] / s.chunks);
    }
  counts.front() -= s.embedding_counts;
  counts.back() -= s.loss_counts;
  check(counts.front() >= 0 && counts.back() >= 0,
        "embedding and loss fill more than a virtual stage of {} layers: take fewer stages", ranks[0] / s.chunks);
  return counts;
}

int chunks_of(const LayerSplit& split, i64 layers_a_chunk) {
  check(layers_a_chunk >= 1, "{} layers a virtual pipeline stage: give at least 1", layers_a_chunk);
  check(!split.first && !split.last,
        "--num-layers-per-virtual-pipeline-stage {} does not go with a number of layers for the first or last stage: "
        "take --num-virtual-stages-per-pipeline-rank",
        layers_a_chunk);
  const i64 layers = rank_layers(split)[0];
  check(layers % layers_a_chunk == 0,
        "the {} layers of a pipeline stage do not divide by {} a virtual stage: take a divisor of {}", layers,
        layers_a_chunk, layers);
  return int(layers / layers_a_chunk);
}

}  // namespace megalith
