#include "step/first_non_finite.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "graph/relayout_op.h"
#include "ops/quantized_grouped_product.h"
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

// Its result exists after its Wait.
bool is_under_way(const AnyOp& op) {
  const auto* relayout = op.get_if<Relayout>();
  return relayout && relayout->lane != 0;
}

// Ops whose result is rows of experts (ops/ragged.h). Only the first ones exist; the input `ends` has their number.
bool makes_rows(const AnyOp& op) {
  constexpr std::array<std::string_view, 7> kOps = {"gather_rows", "expert_activation", "expert_activation_grad",
                                                    "expert_bias", "gather_weights",    "dot_expert_bias",
                                                    "clear_rows"};
  if (const auto* product = op.get_if<GroupedProduct>()) return !product->sums_rows();
  if (const auto* product = op.get_if<QuantizedGroupedProduct>()) return !product->sums_rows();
  return std::ranges::find(kOps, op.name()) != kOps.end();
}

// Buffers that are computed from rows, one for one.
std::vector<bool> buffers_of_rows(const Program& p) {
  std::vector<bool> rows(p.buffers.size());
  for (const Instruction& in : p.instructions)
    for (const int out : in.outs) {
      const Type& type = p.buffers[size_t(out)].type;
      const bool from_rows = std::ranges::any_of(in.ins, [&](int b) {
        const Type& of = p.buffers[size_t(b)].type;
        return rows[size_t(b)] && type.ndim() > 0 && of.dim(0) == type.dim(0);
      });
      rows[size_t(out)] = makes_rows(in.op) || from_rows;
    }
  return rows;
}

}  // namespace

FirstNonFinite::FirstNonFinite(const PlannedStep& step, const Coord& coord)
    : step_(step), plan_(step.plan), coord_(coord), count_(step.plan) {
  for (const Program& p : plan_.programs) rows_.push_back(buffers_of_rows(p));
}

void FirstNonFinite::look_at_weights(Interpreter& interpreter) {
  for (const Leaf& leaf : plan_.leaves) {
    const std::byte* data = leaf.role == Role::parameter ? interpreter.host_view(leaf) : nullptr;
    if (!data || found_) continue;
    const i64 elements = leaf.bytes / size_of(leaf.type.dtype);
    const Scan s = scan(leaf.type.dtype, data, elements);
    if (s.count == 0) continue;
    NonFinite& out = found_.emplace();
    out.when = {.micro_batch = -1};
    out.tensor = out.parameter = leaf.name, out.op = out.phase = out.module = "weight";
    if (const size_t at = leaf.name.find("layers."); at != std::string::npos)
      out.layer = std::atoll(leaf.name.c_str() + at + std::string_view("layers.").size());
    out.count = s.count, out.elements = elements;
  }
}

// The number of existing elements in rows of experts; 0 if unknown.
i64 FirstNonFinite::elements_there(const Program& p, int instruction, size_t out,
                                   const InstructionMemory& memory) const {
  const Instruction& in = p.instructions[size_t(instruction)];
  const Type local = local_type(plan_.mesh, p.buffers[size_t(in.outs[out])].type);
  if (!rows_[size_t(&p - plan_.programs.data())][size_t(in.outs[out])]) return local.elements();
  if (!makes_rows(in.op)) return 0;
  for (size_t k = 0; k < in.ins.size(); ++k) {
    const Type ends = local_type(plan_.mesh, p.buffers[size_t(in.ins[k])].type);
    if (ends.dtype != DType::i32 || ends.ndim() != 2) continue;
    const i64 rows = reinterpret_cast<const i32*>(memory.ins[k])[ends.elements() - 1];
    return std::clamp<i64>(rows, 0, local.dim(0)) * (local.elements() / std::max<i64>(local.dim(0), 1));
  }
  return 0;
}

void FirstNonFinite::run_begins(int program, bool, int) { micro_batch_ = count_.next(program); }

void FirstNonFinite::after(int program, int instruction, const InstructionMemory& memory) {
  if (found_) return;
  const Program& p = plan_.programs[size_t(program)];
  const Instruction& in = p.instructions[size_t(instruction)];
  if (is_under_way(in.op)) return;
  for (size_t k = 0; k < memory.outs.size() && k < in.outs.size(); ++k) {
    const Type& type = p.buffers[size_t(in.outs[k])].type;
    const i64 elements = elements_there(p, instruction, k, memory);
    const Scan s = scan(type.dtype, memory.outs[k], elements);
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
  const Type* of = tokens();
  const bool is_of_tokens = of && type.ndim() >= 2 && type.dim(0) == of->dim(0) && type.dim(1) == of->dim(1);
  if (!is_of_tokens) return;
  const Shape local = local_shape(plan_.mesh, type.shape, type.layout);
  const i64 inner = count(local) / (local[0] * local[1]);
  out.position = indices(plan_.mesh, type.shape, type.layout, coord_, 0)[size_t(at / inner / local[1])];
  out.row = at / inner % local[1];
}

// For a value [s,b,...]: an input of a model piece, also one from the previous piece.
const Type* FirstNonFinite::tokens() const {
  for (const Leaf& leaf : plan_.leaves)
    if (leaf.role == Role::input && leaf.type.ndim() >= 2)
      for (const char* name : {"tokens", "labels", "in"})
        if (leaf.name.starts_with(name)) return &leaf.type;
  return nullptr;
}

// The backward visits stages in reverse order.
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
