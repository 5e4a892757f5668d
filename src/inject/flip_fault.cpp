// One bit of a leaf changes: of a weight or a moment before the step, or after its last write in the step; of a
// gradient when it is whole, or when a replay has made it again.
#include <algorithm>

#include "base/check.h"
#include "inject/planted.h"

namespace megalith {

namespace {

class FlipFault final : public PlantedFault {
 public:
  FlipFault(const Fault& fault, const FaultSite& site) : fault_(fault), site_(site) {
    check(!fault.arguments.empty(), "--inject {}: say what: weight, grad, moment or wire", fault.text);
    constexpr std::string_view kKeys[] = {"name", "bit", "element", "behind", "replay"};
    fault.check_arguments(1, kKeys);
    const Role role = role_of(fault.arguments[0]);
    is_gradient_ = role == Role::gradient;
    const std::string name = fault.value("name");
    leaf_ = name.empty() ? first_of(role) : &site.plan.leaf(name);
    const i64 bits = 8 * size_of(leaf_->type.dtype);
    elements_ = leaf_->bytes / size_of(leaf_->type.dtype);
    bit_ = fault.number("bit", bits - 2), element_ = fault.number("element", 0);
    check(bit_ < bits && element_ < elements_, "--inject {}: {} has {} elements of {} bits here: take one of them",
          fault.text, leaf_->name, elements_, bits);
    read_moment();
  }
  void step_begins(i64 iteration) override {
    is_now_ = iteration == fault_.iteration, replays_ = 0;
    if (is_now_ && !is_gradient_ && !is_behind_) flip();
  }
  void step_repeats() override { ++replays_; }
  void run_begins(int program, bool, int) override {
    const bool is_step = replays_ == 0 && replay_.empty();
    if (is_now_ && is_step && is_gradient_ && site_.plan.programs[size_t(program)].name == "update") flip();
  }
  void after(int program, int instruction, const InstructionMemory&) override {
    const bool is_step = replays_ == 0 && replay_.empty();
    if (is_now_ && is_step && program == last_program_ && instruction == last_writer_) flip();
  }
  // Each replay is struck in another element.
  void run_ends(int) override {
    if (!is_now_ || replays_ == 0 || replay_.empty()) return;
    if (replay_ == "all" || replay_ == std::to_string(replays_)) flip();
    element_ = (element_ + 1) % elements_;
  }

 private:
  void read_moment() {
    const std::string behind = fault_.value("behind");
    replay_ = fault_.value("replay"), is_behind_ = !behind.empty();
    check(!is_behind_ || (behind == "update" && !is_gradient_),
          "--inject {}: behind={}: want behind=update, of a weight or a moment", fault_.text, behind);
    check(replay_.empty() || is_gradient_, "--inject {}: replays compute only gradients: leave replay= out",
          fault_.text);
    check(replay_.empty() || site_.plan.find_program("micro-batch"),
          "--inject {}: not in a pipeline: leave replay= out", fault_.text);
    if ((is_gradient_ && replay_.empty()) || is_behind_) find_writers();
  }
  Role role_of(const std::string& what) const {
    check(what == "weight" || what == "grad" || what == "moment",
          "--inject {}: there is no {}: want weight, grad, moment or wire", fault_.text, what);
    return what == "weight" ? Role::parameter : what == "grad" ? Role::gradient : Role::optimizer;
  }
  const Leaf* first_of(Role role) const {
    const auto found = std::ranges::find(site_.plan.leaves, role, &Leaf::role);
    check(found != site_.plan.leaves.end(), "--inject {}: this run keeps no {}: leave it out", fault_.text,
          fault_.arguments[0]);
    return &*found;
  }
  // Without a pipeline: the last instruction that writes the leaf, of a gradient the last before the update.
  void find_writers() {
    if (!site_.plan.find_program("last-micro-batch")) return;
    last_program_ = site_.plan.index_of("last-micro-batch");
    const Program& p = site_.plan.programs[size_t(last_program_)];
    for (size_t i = 0; i < p.instructions.size(); ++i)
      for (const int out : p.instructions[i].outs) {
        const int leaf = p.buffers[size_t(out)].leaf;
        const bool writes = leaf >= 0 && site_.plan.leaves[size_t(leaf)].name == leaf_->name;
        if (writes && (is_behind_ || p.instructions[i].phase != Phase::update)) last_writer_ = int(i);
      }
    check(last_writer_ >= 0, "--inject {}: no op writes only {}: name another leaf", fault_.text, leaf_->name);
  }
  void flip() const {
    std::byte byte{};
    const i64 at = element_ * size_of(leaf_->type.dtype) + bit_ / 8;
    if (std::byte* seen = site_.interpreter.host_view(*leaf_)) {
      seen[at] ^= std::byte(1 << (bit_ % 8));
      return;
    }
    site_.interpreter.read_part(*leaf_, at, {&byte, 1});
    byte ^= std::byte(1 << (bit_ % 8));
    site_.interpreter.write_part(*leaf_, at, {&byte, 1});
  }
  Fault fault_;
  FaultSite site_;
  const Leaf* leaf_ = nullptr;
  i64 bit_ = 0, element_ = 0, elements_ = 0;
  bool is_gradient_ = false, is_now_ = false, is_behind_ = false;
  std::string replay_;  // which of a step's replays it strikes, from 1 on, or all; empty: the step itself
  i64 replays_ = 0;     // of the step
  int last_program_ = -1, last_writer_ = -1;
};

}  // namespace

std::unique_ptr<PlantedFault> make_flip_fault(const Fault& fault, const FaultSite& site) {
  if (!fault.arguments.empty() && fault.arguments[0] == "wire") return make_wire_fault(fault, site);
  return std::make_unique<FlipFault>(fault, site);
}

}  // namespace megalith
