// A NaN in one element of a training step's result, directly after its instruction.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "inject/planted.h"
#include "plan/micro_batch_count.h"
#include "plan/tensor_names.h"

namespace megalith {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void put_nan(DType type, std::byte* at) {
  if (type == DType::f64) *reinterpret_cast<double*>(at) = kNan;
  if (type == DType::f32) *reinterpret_cast<float*>(at) = float(kNan);
  if (type == DType::bf16) *reinterpret_cast<bf16*>(at) = bf16(float(kNan));
  if (type == DType::f16) *reinterpret_cast<f16*>(at) = f16(float(kNan));
}

class NanFault final : public PlantedFault {
 public:
  NanFault(const Fault& fault, const FaultSite& site) : fault_(fault), plan_(site.plan), runs_(site.plan) {
    check(!fault.arguments.empty(), "--inject {}: name a tensor, as in nan@0:3:layers.0.mlp.einsum.0", fault.text);
    constexpr std::string_view kKeys[] = {"micro-batch", "position", "row"};
    fault.check_arguments(1, kKeys);
    micro_batch_ = fault.number("micro-batch", 0);
    for (size_t p = 0; p < plan_.programs.size(); ++p) {
      if (plan_.programs[p].name.starts_with("evaluate")) {  // no step: it runs between two of them
        places_.push_back(-1);
        continue;
      }
      const std::vector<std::string> names = tensor_names(plan_.programs[p]);
      const auto found = std::ranges::find(names, fault.arguments[0]);
      places_.push_back(found == names.end() ? -1 : int(found - names.begin()));
      if (places_.back() >= 0 && element_ < 0) element_ = element_of(p, site.coord);
      names_.insert(names_.end(), names.begin(), names.end());
    }
    check(element_ >= 0, "--inject {}: this rank has no tensor {}: {}", fault.text, fault.arguments[0], near_names());
  }
  void step_begins(i64 iteration) override {
    iteration_ = iteration;
    runs_.begin();
  }
  void step_repeats() override { runs_.begin(); }
  void run_begins(int program, bool, int) override { micro_batch_now_ = runs_.next(program); }
  void after(int program, int instruction, const InstructionMemory& memory) override {
    if (iteration_ != fault_.iteration || micro_batch_now_ != micro_batch_) return;
    if (instruction != places_[size_t(program)]) return;
    const DType type = out_of(size_t(program)).dtype;
    put_nan(type, memory.outs[0] + element_ * size_of(type));
  }

 private:
  const Type& out_of(size_t p) const {
    const Program& program = plan_.programs[p];
    return program.buffers[size_t(program.instructions[size_t(places_[p])].outs.at(0))].type;
  }
  i64 element_of(size_t p, const Coord& coord) const {
    const Type& type = out_of(p);
    check(is_float(type.dtype), "--inject {}: {} is {}, which has no NaN: take another tensor", fault_.text,
          fault_.arguments[0], name_of(type.dtype));
    const Shape shape = local_shape(plan_.mesh, type.shape, type.layout);
    const i64 position = fault_.number("position", 0), row = fault_.number("row", 0);
    if (fault_.value("position").empty() && fault_.value("row").empty()) return 0;
    check(shape.size() >= 2, "--inject {}: {} has {} dims: a position and a row need two", fault_.text,
          fault_.arguments[0], shape.size());
    const std::vector<i64> held = indices(plan_.mesh, type.shape, type.layout, coord, 0);
    const auto at = std::ranges::find(held, position);
    check(at != held.end() && row < shape[1], "--inject {}: this rank has no position {} of row {}: take another",
          fault_.text, position, row);
    return ((at - held.begin()) * shape[1] + row) * (count(shape) / (shape[0] * shape[1]));
  }
  // Those that end in the same op, or a few others.
  std::string near_names() const {
    const std::string& asked = fault_.arguments[0];
    std::string out;
    int n = 0;
    for (const bool same_op : {true, false})
      for (const std::string& name : names_) {
        const std::string op = name.substr(0, name.rfind('.'));
        const bool same = asked.find(op.substr(op.rfind('.') + 1)) != std::string::npos;
        if (same == same_op && n < 8 && out.find(name + ",") == std::string::npos) out += name + ", ", ++n;
      }
    return "it has " + out + "and others";
  }
  Fault fault_;
  const Plan& plan_;
  std::vector<int> places_;         // by program; -1: not in it
  std::vector<std::string> names_;  // of all
  i64 element_ = -1;
  i64 iteration_ = 0, micro_batch_ = 0, micro_batch_now_ = 0;
  MicroBatchCount runs_;
};

}  // namespace

std::unique_ptr<PlantedFault> make_nan_fault(const Fault& fault, const FaultSite& site) {
  return std::make_unique<NanFault>(fault, site);
}

}  // namespace megalith
