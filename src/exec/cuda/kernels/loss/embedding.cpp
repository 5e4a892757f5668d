// Embedding and EmbeddingGrad.
#include "exec/cuda/kernels/loss/embedding.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/supported.h"

namespace megalith::cuda {

// `tokens`: input 0; `rows`: input of shape [.., width]; `table`: input whose dim 0 are the ids.
static EmbeddingShape shape_of(const Site& site, int rows, int table) {
  const Type& t = site.ins[table];
  const std::vector<Run> runs = index_runs(site.mesh, t.shape, t.layout, site.coord, 0);
  check(runs.size() == 1, "[embedding] the rows of a table must be split in blocks");
  const EmbeddingShape s{count(site.in_shape(0)), site.in_shape(rows).back(), runs[0].start, runs[0].length};
  check(s.tokens < i64{1} << 31 && s.rows < i64{1} << 31, "[embedding] {} tokens, {} rows: want less than 2^31",
        s.tokens, s.rows);
  return s;
}

Kernel prepare(const Embedding&, const Site& site) {
  const EmbeddingShape s = shape_of(site, 1, 1);
  return {0, [s, bytes = size_of(site.ins[1].dtype)](const Args& a) {
            launch_embedding(s, bytes, a.in<i32>(0), a.ins[1], a.outs[0], a.stream);
          }};
}

Kernel prepare(const EmbeddingGrad& op, const Site& site) {
  check_activation(op.name, site.ins[1].dtype);
  check_activation(op.name, site.outs[0].dtype);
  const EmbeddingGradLaunch l =
      plan_embedding_grad(shape_of(site, 1, 2), site.ins[1].dtype, site.outs[0].dtype, site.device.sms());
  return {l.workspace, [l, op](const Args& a) {
            const bool add = op.accumulate && !(a.first_micro_batch && op.starts);
            u8* marks = op.marks ? a.out<u8>(1) : nullptr;
            launch(l, add, a.in<i32>(0), a.ins[1], a.outs[0], marks, a.workspace, a.stream);
          }};
}

}  // namespace megalith::cuda
