#include "generate/last_logits.h"

namespace megalith {

std::vector<float> last_logits(Interpreter& interpreter, const Plan& plan, int program, i64 vocab) {
  const Program& p = plan.programs[size_t(program)];
  const Type& type = p.buffers[size_t(p.outputs.at("logits"))].type;
  std::vector<std::byte> bytes(size_t(type.bytes()));
  interpreter.read_output(program, "logits", bytes.data());
  std::vector<float> last(size_t(vocab), 0.0f);
  const i64 row = (type.dim(0) - 1) * type.dim(1) * type.dim(2);
  for (i64 v = 0; v < vocab; ++v)
    last[size_t(v)] = type.dtype == DType::f16    ? float(reinterpret_cast<const f16*>(bytes.data())[row + v])
                      : type.dtype == DType::bf16 ? float(reinterpret_cast<const bf16*>(bytes.data())[row + v])
                                                  : reinterpret_cast<const float*>(bytes.data())[row + v];
  return last;
}

}  // namespace megalith
