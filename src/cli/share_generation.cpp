#include "cli/share_generation.h"

#include "base/check.h"
#include "base/log.h"
#include "mesh/groups.h"
#include "settings/compatibility.h"

namespace megalith {

// The rules of training about sizes that ranks divide.
static void check_sizes(const ParallelConfig& layout, const ModelConfig& model) {
  Options o;
  o.model = model, o.parallel = layout;
  o.train.micro_batch_size = o.train.global_batch_size = 1;
  for (const std::string& line : broken_ground(o)) fail("{}", line);
  for (const Rule& rule : parallel_rules()) {
    if (rule.action != Rule::Action::refuse) continue;
    const std::string line = rule.broken(o);
    check(line.empty(), "{}", line);
  }
}

GenerationRanks share_generation(ParallelConfig layout, ModelConfig& model, Ranks& ranks) {
  const i64 tp = layout.tensor_model_parallel_size, pp = layout.pipeline_model_parallel_size;
  if (ranks.size() == 1) {
    if (tp * pp != 1) log::info("one rank generates: sizes of tensor and pipeline parallelism have no effect");
    return {};
  }
  layout.world_size = ranks.size();
  check(tp > 0 && pp > 0 && tp * pp == ranks.size(),
        "{} ranks cannot share a generation of tensor {} x pipeline {} = {}: change the number of ranks, "
        "--tensor-model-parallel-size or --pipeline-model-parallel-size",
        ranks.size(), tp, pp, tp * pp);
  check(model.architecture != Architecture::bert, "a BERT fills masks on one rank, and {} were started: start one",
        ranks.size());
  check(!model.is_t5() || pp == 1, "--pipeline-model-parallel-size {}: a T5 answers without a pipeline: give 1", pp);
  model.padded_vocab_size = 0;
  model.resolve(tp);
  check_sizes(layout, model);
  GenerationRanks out{&ranks, mesh_of(layout, model)};
  if (pp > 1) out.pipeline = pipeline_of(layout, model, out.mesh.place(out.coord(), groups::pipeline), 1);
  return out;
}

}  // namespace megalith
