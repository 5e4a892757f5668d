#include "plan/plan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "plan/unverified.h"

namespace megalith {

const Leaf* Plan::find_leaf(const std::string& name) const {
  for (const Leaf& l : leaves)
    if (l.name == name) return &l;
  for (const Leaf& l : parts)
    if (l.name == name) return &l;
  return nullptr;
}

const Leaf& Plan::leaf(const std::string& name) const {
  const Leaf* l = find_leaf(name);
  check(l, "the plan has no leaf '{}'", name);
  return *l;
}

const Program* Plan::find_program(const std::string& name) const {
  for (const Program& p : programs)
    if (p.name == name) return &p;
  return nullptr;
}

const Program& Plan::program(const std::string& name) const {
  const Program* p = find_program(name);
  check(p, "the plan has no program '{}'", name);
  return *p;
}

int Plan::index_of(const std::string& name) const { return int(&program(name) - programs.data()); }

i64 Plan::bytes(Role role, bool host) const {
  i64 sum = 0;
  for (const Leaf& l : leaves)
    if (l.role == role && l.host == host && l.bucket < 0) sum += l.stride() * l.slots;
  return sum;
}

i64 Plan::slot_stride(const Buffer& b) const {
  return b.leaf >= 0 && leaves[size_t(b.leaf)].slots > 1 ? leaves[size_t(b.leaf)].stride() : 0;
}

Cost cost_of(const Plan& plan, const Program& p, const Instruction& in) {
  std::vector<Type> ins, outs;
  for (int b : in.ins) ins.push_back(local_type(plan.mesh, p.buffers[b].type));
  for (int b : in.outs) outs.push_back(local_type(plan.mesh, p.buffers[b].type));
  return in.op.cost(ins, outs);
}

static std::string place(const Program& p, int b, AxisSet used) {
  const Buffer& buffer = p.buffers[b];
  return fmt::format("b{} {} @{}", b, to_string(buffer.type, used), buffer.offset);
}

std::string print(const Plan& plan) {
  const AxisSet used = plan.mesh.used();
  std::string out;
  for (const Leaf& l : plan.leaves)
    out += fmt::format("leaf {} {} @{}{} {} bytes   # {}\n", l.name, to_string(l.type, used), l.host ? "host+" : "",
                       l.offset, l.bytes, name_of(l.role));
  for (const Program& p : plan.programs) {
    out += fmt::format("program {}: {} instructions, {} bytes of activations and workspace\n", p.name,
                       p.instructions.size(), p.activation_bytes);
    for (size_t i = 0; i < p.instructions.size(); ++i) {
      const Instruction& in = p.instructions[i];
      std::string outs, ins;
      for (int b : in.outs) outs += (outs.empty() ? "" : ", ") + place(p, b, used);
      for (int b : in.ins) ins += fmt::format("{}b{}", ins.empty() ? "" : ", ", b);
      out += fmt::format("{:>5}  {} = {}({})", i, outs, in.op.print(used), ins);
      if (in.workspace_bytes) out += fmt::format(" workspace {} @{}", in.workspace_bytes, in.workspace);
      out += fmt::format("   # {}{} {}\n", name_of(in.phase), in.first_only ? ", first micro-batch" : "",
                         to_string(in.origin));
    }
  }
  return out;
}

std::string memory_table(const Plan& p) {
  std::string out;
  auto row = [&](std::string_view what, i64 bytes) {
    out += fmt::format("  {:<28} {:>16} bytes  {:>10.1f} MiB\n", what, bytes, double(bytes) / (1 << 20));
  };
  for (Role r : {Role::input, Role::parameter, Role::main_parameter, Role::gradient, Role::optimizer, Role::cache,
                 Role::scalar, Role::kept, Role::once})
    if (p.bytes(r)) row(name_of(r), p.bytes(r));
  for (const Program& program : p.programs) row("activations, " + program.name, program.activation_bytes);
  row("arena", p.arena_bytes);
  for (Role r : {Role::main_parameter, Role::optimizer, Role::kept})
    if (p.bytes(r, true)) row(fmt::format("{}, on the host", name_of(r)), p.bytes(r, true));
  return out;
}

// Buffers of one program that are live at the same time must not overlap. The exception: an op declares that they share
// memory.
static void verify(const Plan& plan, const Program& p) {
  std::set<int> defined;
  std::vector<std::vector<int>> born(p.instructions.size());  // buffers that begin to live at an instruction
  for (size_t b = 0; b < p.buffers.size(); ++b)
    if (p.buffers[b].leaf < 0 && p.buffers[b].first >= 0) born[size_t(p.buffers[b].first)].push_back(int(b));
  std::vector<int> alive;
  std::vector<int> seen(p.buffers.size());  // the buffer that each is a view of, followed to the end
  std::iota(seen.begin(), seen.end(), 0);
  auto inside = [&](i64 offset, i64 bytes, bool host = false) {
    return offset >= 0 && offset + bytes <= (host ? plan.host_bytes : plan.arena_bytes);
  };
  for (size_t i = 0; i < p.instructions.size(); ++i) {
    const Instruction& in = p.instructions[i];
    const auto require = [&](bool ok, const char* what, int a, int b = -1) {
      if (!ok)
        fail("plan, program {}, instruction {} ({}): {} (b{}, b{})", p.name, i, in.op.print(plan.mesh.used()), what, a,
             b);
    };
    for (int b : in.ins) require(p.buffers[b].leaf >= 0 || defined.count(b), "reads a buffer before it is written", b);
    for (const Alias& a : in.op.aliases()) {
      const Buffer &from = p.buffers[in.ins[a.in]], &to = p.buffers[in.outs[a.out]];
      require(!a.must || (from.offset == to.offset && plan.on_host(from) == plan.on_host(to)),
              "an update in place has two places", in.outs[a.out], in.ins[a.in]);
      if (a.view) seen[size_t(in.outs[a.out])] = seen[size_t(in.ins[a.in])];
    }
    for (int b : in.outs) {
      defined.insert(b);
      require(inside(p.buffers[b].offset, p.buffers[b].bytes, plan.on_host(p.buffers[b])),
              "a buffer lies outside the arena", b);
    }
    require(inside(in.workspace, in.workspace_bytes), "its workspace lies outside the arena", -1);
    auto apart = [&](i64 x, i64 nx, i64 y, i64 ny) { return x + nx <= y || y + ny <= x || nx == 0 || ny == 0; };
    std::erase_if(alive, [&](int b) { return p.buffers[size_t(b)].last < int(i); });
    for (const int b : born[i]) alive.push_back(b);
    for (const int b : alive) {
      const Buffer& live = p.buffers[size_t(b)];
      require(apart(live.offset, live.bytes, in.workspace, in.workspace_bytes), "its workspace overlaps a buffer", b);
      for (int o : in.outs) {
        const Buffer& out = p.buffers[o];
        if (b == o || out.leaf >= 0) continue;
        bool shares = seen[size_t(b)] == seen[size_t(o)];
        for (const Alias& a : in.op.aliases())
          shares |= in.outs[a.out] == o && in.ins[a.in] == b && live.last == int(i);
        require(shares || apart(live.offset, live.bytes, out.offset, out.bytes), "two buffers overlap", o, b);
      }
    }
  }
}

void verify(const Plan& plan) {
  for (const Leaf& l : plan.leaves)
    if (l.bucket >= 0) {
      const Leaf& bucket = plan.leaves[size_t(l.bucket)];
      check(l.offset >= bucket.offset && l.offset + l.bytes <= bucket.offset + bucket.bytes,
            "plan: leaf {} lies outside {}", l.name, bucket.name);
    }
  for (size_t a = 0; a + 1 < plan.leaves.size(); ++a)
    check(plan.leaves[a].bucket >= 0 || plan.leaves[a + 1].bucket >= 0 ||
              plan.leaves[a].host != plan.leaves[a + 1].host ||
              plan.leaves[a].offset + plan.leaves[a].stride() * plan.leaves[a].slots <= plan.leaves[a + 1].offset,
          "plan: leaf {} overlaps leaf {}", plan.leaves[a].name, plan.leaves[a + 1].name);
  for (const Program& p : plan.programs) verify(plan, p);
}

Plan plan_memory(const Mesh& mesh, const std::vector<ProgramSpec>& programs,
                 const std::function<i64(const Graph&, const Node&)>& workspace) {
  Plan plan = plan_memory_unverified(mesh, programs, workspace);
  verify(plan);
  return plan;
}

}  // namespace megalith
