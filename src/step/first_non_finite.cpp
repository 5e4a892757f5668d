#include "step/first_non_finite.h"

#include <cmath>

#include "graph/relayout_op.h"
#include "plan/tensor_names.h"

namespace megalith {

namespace {

struct Scan {
  i64 first = -1, count = 0;
};

template <class T>
Scan scan(const std::byte* data, i64 elements) {
  const T* x = reinterpret_cast<const T*>(data);
  Scan out;
  for (i64 i = 0; i < elements; ++i) {
    if (std::isfinite(double(x[i]))) continue;
    if (out.count++ == 0) out.first = i;
  }
  return out;
}

Scan scan(DType type, const std::byte* data, i64 elements) {
  if (type == DType::f64) return scan<double>(data, elements);
  if (type == DType::f32) return scan<float>(data, elements);
  if (type == DType::bf16) return scan<bf16>(data, elements);
  if (type == DType::f16) return scan<f16>(data, elements);
  return {};
}

// Its result is there behind its Wait.
bool is_under_way(const AnyOp& op) {
  const auto* relayout = op.get_if<Relayout>();
  return relayout && relayout->lane != 0;
}

}  // namespace

FirstNonFinite::FirstNonFinite(const PlannedStep& step, const Coord& coord)
    : step_(step), plan_(step.plan), coord_(coord), count_(step.plan) {}

void FirstNonFinite::run_begins(int program, bool, int) { micro_batch_ = count_.next(program); }

void FirstNonFinite::after(int program, int instruction, std::span<std::byte* const> outs) {
  if (found_) return;
  const Program& p = plan_.programs[size_t(program)];
  const Instruction& in = p.instructions[size_t(instruction)];
  if (is_under_way(in.op)) return;
  for (size_t k = 0; k < outs.size() && k < in.outs.size(); ++k) {
    const Type& type = p.buffers[size_t(in.outs[k])].type;
    const i64 elements = local_type(plan_.mesh, type).elements();
    const Scan s = scan(type.dtype, outs[k], elements);
    if (s.count == 0) continue;
    describe(p, instruction, type, s.first);
    found_->count = s.count, found_->elements = elements;
    return;
  }
}

void FirstNonFinite::describe(const Program& p, int instruction, const Type& type, i64 at) {
  const Instruction& in = p.instructions[size_t(instruction)];
  NonFinite& out = found_.emplace();
  out.when.micro_batch = micro_batch_, out.when.instruction = instruction;
  set_stage(p, out.when);
  out.tensor = tensor_names(p)[size_t(instruction)];
  out.op = in.op.name(), out.phase = name_of(in.phase);
  out.module = in.origin.module, out.stack = in.origin.stack, out.layer = in.origin.layer;
  out.parameter = parameter_of(plan_, p, in);
  const Leaf* tokens = plan_.find_leaf("tokens");
  if (!tokens && step_.pipeline)
    for (const StagePiece& piece : step_.pipeline->pieces)
      if (!tokens) tokens = plan_.find_leaf("tokens" + piece.suffix);
  if (!tokens) tokens = plan_.find_leaf("labels");
  const bool is_of_tokens = tokens && tokens->type.ndim() == 2 && type.ndim() >= 2 &&
                            type.dim(0) == tokens->type.dim(0) && type.dim(1) == tokens->type.dim(1);
  if (!is_of_tokens) return;
  const Shape local = local_shape(plan_.mesh, type.shape, type.layout);
  const i64 inner = count(local) / (local[0] * local[1]);
  out.position = indices(plan_.mesh, type.shape, type.layout, coord_, 0)[size_t(at / inner / local[1])];
  out.row = at / inner % local[1];
}

// In the backward stages come the other way round.
void FirstNonFinite::set_stage(const Program& program, NonFinite::When& when) const {
  if (!step_.pipeline) return;
  const std::vector<StagePiece>& pieces = step_.pipeline->pieces;
  const int stages = step_.pipeline->spec.schedule.stages;
  for (size_t chunk = 0; chunk < pieces.size(); ++chunk) {
    if (!pieces[chunk].suffix.empty() && !program.name.ends_with(pieces[chunk].suffix)) continue;
    when.stage = i64(chunk) * stages + step_.pipeline->spec.stage;
  }
  when.backward = program.name.starts_with("forward") ? 0 : 1;
  if (when.backward) when.stage = -when.stage;
}

}  // namespace megalith
