#include "train/evaluation.h"

#include "train/together.h"

namespace megalith {

LoaderConfig rank_loader_config(const Options& o, const Mesh& mesh, const Coord& coord, Split split, i64 first) {
  LoaderConfig c = loader_config(o.data, split);
  c.consumed_samples = first;
  c.micro_batch_size = o.train.micro_batch_size;
  c.data_parallel_rank = coord[int(Axis::dp)], c.data_parallel_size = mesh.n(Axis::dp);
  return c;
}

double Evaluation::loss(const std::shared_ptr<const Dataset>& set, i64 done) {
  const TrainConfig& t = o_.train;
  const Mesh& mesh = step_.plan.mesh;
  const i64 samples = t.eval_iters * t.global_batch_size;
  const i64 first = set->size() >= (done + 1) * samples ? done * samples : 0;
  DataLoader loader(set, rank_loader_config(o_, mesh, coord_, Split::valid, first));
  auto e = trainer_.evaluate(loader, samples / (t.micro_batch_size * mesh.n(Axis::dp)));
  if (step_.pipeline) e = {from_last_stage(e.loss_sum), from_last_stage(e.tokens)};
  return e.mean();
}

// What the first rank of the last stage has, where others have nothing or the same.
double Evaluation::from_last_stage(double x) {
  Coord one{};
  one[int(Axis::pp)] = step_.plan.mesh.n(Axis::pp) - 1;
  return sum_over(ranks_, coord_ == one ? x : 0);
}

}  // namespace megalith
