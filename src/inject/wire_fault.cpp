// One bit of what this rank receives in the last transfer of a step changes. Nothing else on this rank is wrong.
#include "base/check.h"
#include "graph/relayout_op.h"
#include "inject/planted.h"
#include "mesh/pieces.h"

namespace megalith {

namespace {

class WireFault final : public PlantedFault {
 public:
  WireFault(const Fault& fault, const FaultSite& site) : fault_(fault), site_(site) {
    constexpr std::string_view kKeys[] = {"bit", "element"};
    fault.check_arguments(1, kKeys);
    for (size_t p = 0; p < site.plan.programs.size(); ++p)
      if (site.plan.programs[p].name == "last-micro-batch" || site.plan.programs[p].name == "update") find_in(int(p));
    check(instruction_ >= 0, "--inject {}: this rank receives nothing in a step: take a run of several ranks",
          fault.text);
    const Program& p = site.plan.programs[size_t(program_)];
    const Type& type = p.buffers[size_t(p.instructions[size_t(instruction_)].outs.at(0))].type;
    const i64 elements = count(local_shape(site.plan.mesh, type.shape, type.layout)), bits = 8 * size_of(type.dtype);
    const i64 bit = fault.number("bit", bits - 2), element = fault.number("element", 0);
    check(bit < bits && element < elements,
          "--inject {}: the transfer has {} elements of {} bits here: take one of them", fault.text, elements, bits);
    byte_ = element * size_of(type.dtype) + bit / 8, bit_ = int(bit % 8);
  }
  void step_begins(i64 iteration) override { is_now_ = iteration == fault_.iteration; }
  void after(int program, int instruction, const InstructionMemory& memory) override {
    if (!is_now_ || program != program_ || instruction != instruction_) return;
    memory.outs[0][byte_] ^= std::byte(1 << bit_);
    is_now_ = false;
  }

 private:
  // The last value that came from other ranks. The result of a relayout on a lane exists after its Wait.
  void find_in(int program) {
    const Program& p = site_.plan.programs[size_t(program)];
    for (size_t i = 0; i < p.instructions.size(); ++i) {
      const Relayout* r = p.instructions[i].op.get_if<Relayout>();
      const bool comes = (r && r->lane == 0 && r->transfer != Transfer::none) || p.instructions[i].op.get_if<Wait>();
      if (comes && !p.instructions[i].outs.empty()) program_ = program, instruction_ = int(i);
    }
  }
  Fault fault_;
  FaultSite site_;
  int program_ = -1, instruction_ = -1, bit_ = 0;
  i64 byte_ = 0;
  bool is_now_ = false;
};

}  // namespace

std::unique_ptr<PlantedFault> make_wire_fault(const Fault& fault, const FaultSite& site) {
  return std::make_unique<WireFault>(fault, site);
}

}  // namespace megalith
