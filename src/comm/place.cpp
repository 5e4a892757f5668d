// The detection table of docs/parallelism.md, one function for each row.
#include "comm/place.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "base/check.h"
#include "base/dtype.h"
#include "base/parse_count.h"
#include "comm/srun_task.h"

namespace megalith {
namespace {

// Values of environment variables, checked as they are read.
struct Variables {
  const Environment& env;

  bool has(const char* name) const { return env(name) && *env(name); }  // an empty one counts as not set

  i64 number(const char* name, i64 largest = 1 << 24) const {
    check(has(name), "{} is not set, but other variables of its launcher are: set all of them, or none", name);
    const std::string_view text = env(name);
    const auto value = parse_count(text);
    check(value && *value <= largest,
          "{}={} is not an integer from 0 to {}: give the rank or count that the launcher means", name, text, largest);
    return *value;
  }
  int number_or(const char* name, int otherwise) const { return has(name) ? int(number(name)) : otherwise; }
};

Place checked(Place p, const char* rank, const char* size, const char* local_rank, const char* local_size) {
  check(p.size >= 1, "{}={}: a run has at least one process", size, p.size);
  check(p.rank >= 0 && p.rank < p.size, "{}={} is not below {}={}: ranks count from 0", rank, p.rank, size, p.size);
  check(p.local_size >= 1 && p.local_size <= p.size, "{}={} is not from 1 to {}={}: correct or unset it", local_size,
        p.local_size, size, p.size);
  check(p.local_rank >= 0 && p.local_rank < p.local_size, "{}={} is not below {}={}: correct or unset them", local_rank,
        p.local_rank, local_size, p.local_size);
  return p;
}

bool has_environment(const Variables& v) { return v.has("RANK") || v.has("WORLD_SIZE"); }

// torchrun's store uses MASTER_PORT, so the next port is used.
Place from_environment(const Variables& v) {
  Place p{.rank = int(v.number("RANK")), .size = int(v.number("WORLD_SIZE")), .launcher = "environment"};
  p.local_size = v.number_or("LOCAL_WORLD_SIZE", 0);
  p.local_rank = v.number_or("LOCAL_RANK", 0);
  p.tells_local_size = p.local_size > 0;
  if (!p.tells_local_size) p.local_size = p.local_rank + 1;
  if (p.size > 1) {
    check(v.has("MASTER_ADDR"), "MASTER_ADDR is not set: with RANK and WORLD_SIZE={} it must name rank 0's host",
          p.size);
    p.master_address = v.env("MASTER_ADDR");
    const i64 port = v.number("MASTER_PORT");
    const bool taken = v.has("TORCHELASTIC_RUN_ID") && !v.has("MEGALITH_LAUNCH_FD");
    check(port >= 1 && port + taken <= 65535, "MASTER_PORT={}: give a port from 1 to {}", port, 65535 - taken);
    p.master_port = int(port) + taken;
  }
  return checked(p, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE");
}

// A rank of `megalith launch`, which leaves the port to the ranks.
Place from_launch(const Variables& v) {
  Place p = from_environment(v);
  p.launcher = "launch";
  return p;
}

std::optional<Place> from_open_mpi(const Variables& v) {
  if (!v.has("OMPI_COMM_WORLD_RANK") && !v.has("OMPI_COMM_WORLD_SIZE")) return {};
  return checked({.rank = int(v.number("OMPI_COMM_WORLD_RANK")),
                  .size = int(v.number("OMPI_COMM_WORLD_SIZE")),
                  .local_rank = int(v.number("OMPI_COMM_WORLD_LOCAL_RANK")),
                  .local_size = int(v.number("OMPI_COMM_WORLD_LOCAL_SIZE")),
                  .launcher = "mpirun"},
                 "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                 "OMPI_COMM_WORLD_LOCAL_SIZE");
}

// MPICH's launcher, and Intel's. Without the local variables all ranks are taken to be on one host.
std::optional<Place> from_mpich(const Variables& v) {
  if (!v.has("PMI_RANK") && !v.has("PMI_SIZE")) return {};
  Place p{.rank = int(v.number("PMI_RANK")), .size = int(v.number("PMI_SIZE")), .launcher = "mpirun"};
  p.local_rank = v.number_or("MPI_LOCALRANKID", p.rank);
  p.local_size = v.number_or("MPI_LOCALNRANKS", p.size);
  return checked(p, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS");
}

// Entry `node` of Slurm's "4(x2),3", which means 4, 4, 3. Empty if there is no such entry.
std::optional<int> tasks_of_node(std::string_view counts, i64 node) {
  for (size_t at = 0; at < counts.size();) {
    const size_t comma = std::min(counts.find(',', at), counts.size());
    const std::string_view item = counts.substr(at, comma - at);
    int tasks = 0, times = 1;
    std::from_chars(item.data(), item.data() + item.size(), tasks);
    if (const size_t x = item.find("(x"); x != item.npos)
      std::from_chars(item.data() + x + 2, item.data() + item.size(), times);
    if (node < times) return tasks;
    node -= times;
    at = comma + 1;
  }
  return {};
}

// A task of srun. Not one: a batch script or a shell of salloc (no step, or one of the special steps), srun --pty bash.
bool is_srun_task(const Variables& v) {
  constexpr i64 kSpecialSteps = 0xfffffff0, kLargest = 0xffffffff;
  return v.has("SLURM_PROCID") && v.has("SLURM_STEP_ID") && v.number("SLURM_STEP_ID", kLargest) < kSpecialSteps &&
         !v.has("SLURM_PTY_PORT");
}

std::optional<Place> from_srun(const Variables& v) {
  if (!is_srun_task(v)) return {};
  const char* size = v.has("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  Place p{.rank = int(v.number("SLURM_PROCID")), .size = int(v.number(size)), .launcher = "srun"};
  p.local_rank = int(v.number("SLURM_LOCALID"));
  const char* counts = v.has("SLURM_STEP_TASKS_PER_NODE") ? "SLURM_STEP_TASKS_PER_NODE" : "SLURM_TASKS_PER_NODE";
  std::optional<int> here;
  if (v.has(counts) && v.has("SLURM_NODEID")) here = tasks_of_node(v.env(counts), v.number("SLURM_NODEID"));
  const char* local_size = here ? counts : "SLURM_NTASKS_PER_NODE";
  // The last node of a run may have fewer tasks per node than requested.
  p.tells_local_size = here || v.has("SLURM_NTASKS_PER_NODE");
  p.local_size = here ? *here : std::min(v.number_or("SLURM_NTASKS_PER_NODE", p.local_rank + 1), p.size);
  return checked(p, "SLURM_PROCID", size, "SLURM_LOCALID", local_size);
}

void check_agrees(const Place& mpi, const Variables& v, const char* rank, const char* size) {
  check(v.number("RANK") == mpi.rank && v.number("WORLD_SIZE") == mpi.size,
        "two launchers disagree: {}={} of {}={}, but RANK={} of WORLD_SIZE={}: unset the wrong ones", rank, mpi.rank,
        size, mpi.size, v.env("RANK"), v.env("WORLD_SIZE"));
}

}  // namespace

Place find_place(const Environment& env) {
  const Variables v{env};
  if (v.has("MEGALITH_LAUNCH_FD") && has_environment(v)) return from_launch(v);
  // torchrun's processes know that it started them last, whatever started torchrun.
  if (v.has("TORCHELASTIC_RUN_ID") && has_environment(v)) return from_environment(v);
  if (const auto p = from_open_mpi(v)) {
    if (has_environment(v)) check_agrees(*p, v, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
    return *p;
  }
  const auto slurm = from_srun(v);
  if (const auto p = from_mpich(v)) {
    if (has_environment(v)) check_agrees(*p, v, "PMI_RANK", "PMI_SIZE");
    return slurm && slurm->rank == p->rank && slurm->size == p->size ? *slurm : *p;  // srun --mpi=pmi2 sets both
  }
  if (has_environment(v)) return from_environment(v);
  return slurm.value_or(Place{});
}

bool is_task_of_srun(const Environment& env) { return is_srun_task(Variables{env}); }

}  // namespace megalith
