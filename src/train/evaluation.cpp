#include "train/evaluation.h"

#include <algorithm>

#include "base/log.h"
#include "comm/on_all_ranks.h"

namespace megalith {

LoaderConfig rank_loader_config(const Options& o, const Mesh& mesh, const Coord& coord, Split split, i64 first) {
  LoaderConfig c = loader_config(o.data, split);
  c.consumed_samples = first;
  c.micro_batch_size = o.train.micro_batch_size;
  c.data_parallel_rank = mesh.place(coord, groups::data), c.data_parallel_size = mesh.n(groups::data);
  return c;
}

Trainer::Evaluation Evaluation::sums(const std::shared_ptr<const Dataset>& set, i64 done, bool whole) {
  const TrainConfig& t = o_.train;
  const Mesh& mesh = step_.plan.mesh;
  const i64 asked = whole ? set->size() : t.eval_iters * t.eval_batch(), samples = std::min(asked, set->size());
  const i64 first = set->size() >= (done + 1) * asked ? done * asked : 0;
  LoaderConfig config = rank_loader_config(o_, mesh, coord_, Split::valid, first);
  if (whole) config.type = SamplerType::single;
  if (config.type == SamplerType::single) config.end = first + samples;
  DataLoader loader(set, config);
  const i64 at_once = t.micro_batch_size * mesh.n(groups::data);
  auto e = trainer_.evaluate(loader, (samples + at_once - 1) / at_once);
  if (step_.pipeline) {
    e.loss_sum = from_last_stage(e.loss_sum), e.tokens = from_last_stage(e.tokens);
    for (TermSums& term : e.others) term.sum = from_last_stage(term.sum), term.weight = from_last_stage(term.weight);
  }
  if (e.tokens == 0) log::warn("all labels of the {} evaluated samples are masked: the loss is 0", samples);
  return e;
}

std::vector<NamedValue> Evaluation::losses(const std::shared_ptr<const Dataset>& set, i64 done, bool whole) {
  const auto e = sums(set, done, whole);
  std::vector<NamedValue> out = {{step_.terms[0], e.mean()}};
  for (const TermSums& term : e.others)
    if (term.weight != 0) out.push_back({term.name, term.sum / term.weight});
  return out;
}

// Broadcasts the value of the first rank of the last stage. Other ranks have no value, or the same one.
double Evaluation::from_last_stage(double x) {
  const Mesh& mesh = step_.plan.mesh;
  const Coord one = mesh.at(Coord{}, groups::pipeline, mesh.n(groups::pipeline) - 1);
  return sum_over(ranks_, coord_ == one ? x : 0);
}

}  // namespace megalith
