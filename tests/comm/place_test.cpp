#include "comm/place.h"

#include <gtest/gtest.h>

#include <map>

#include "base/check.h"

namespace megalith {
namespace {

using Values = std::map<std::string, std::string>;

Place place_in(const Values& values) {
  return find_place([&](const char* name) -> const char* {
    const auto at = values.find(name);
    return at == values.end() ? nullptr : at->second.c_str();
  });
}

Values with(Values values, const Values& more) {
  for (const auto& [name, value] : more) values[name] = value;
  return values;
}

const Values kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "5"},
                         {"OMPI_COMM_WORLD_SIZE", "8"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
const Values kSrun = {{"SLURM_PROCID", "6"},  {"SLURM_NTASKS", "7"},           {"SLURM_LOCALID", "2"},
                      {"SLURM_STEP_ID", "0"}, {"SLURM_TASKS_PER_NODE", "4,3"}, {"SLURM_NODEID", "1"}};
const Values kPyTorchJob = {
    {"RANK", "3"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "job-master-0"}, {"MASTER_PORT", "23456"}};
const Values kTorchrun =
    with(kPyTorchJob, {{"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "x"}});

const Place kAlone{};
const Place kOpenMpiPlace{.rank = 5, .size = 8, .local_rank = 1, .local_size = 4, .launcher = "mpirun"};
const Place kSrunPlace{.rank = 6, .size = 7, .local_rank = 2, .local_size = 3, .launcher = "srun"};
const Place kTorchrunPlace{.rank = 3,
                           .size = 4,
                           .local_rank = 1,
                           .local_size = 2,
                           .launcher = "environment",
                           .master_address = "job-master-0",
                           .master_port = 23457};

TEST(Place, EachLauncher) {
  EXPECT_EQ(place_in({}), kAlone);
  EXPECT_EQ(place_in(kOpenMpi), kOpenMpiPlace);
  EXPECT_EQ(place_in(kSrun), kSrunPlace);
  EXPECT_EQ(place_in(kTorchrun), kTorchrunPlace);
}

TEST(Place, PyTorchJobTellsNothingLocalAndUsesItsPort) {
  const Place p = place_in(kPyTorchJob);
  EXPECT_EQ(p.local_rank, 0);
  EXPECT_EQ(p.local_size, 1);
  EXPECT_FALSE(p.tells_local_size);
  EXPECT_EQ(p.master_port, 23456);
}

TEST(Place, Mpich) {
  const Place p = place_in({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}});
  EXPECT_EQ(p, (Place{.rank = 3, .size = 4, .local_rank = 1, .local_size = 2, .launcher = "mpirun"}));
  const Place q = place_in({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}});
  EXPECT_EQ(q, (Place{.rank = 3, .size = 4, .local_rank = 3, .local_size = 4, .launcher = "mpirun"}));
}

TEST(Place, OneOfOneNeedsNoMaster) {
  EXPECT_EQ(place_in({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).size, 1);
  EXPECT_EQ(place_in({{"RANK", ""}, {"WORLD_SIZE", ""}}), kAlone);
}

TEST(Place, ShellsOfSlurmAreNoTasks) {
  const Values salloc = {{"SLURM_JOB_ID", "12"}, {"SLURM_NTASKS", "8"}, {"SLURM_TASKS_PER_NODE", "4(x2)"}};
  EXPECT_EQ(place_in(salloc), kAlone);
  const Values batch = with(salloc, {{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_NODEID", "0"}});
  EXPECT_EQ(place_in(batch), kAlone);
  EXPECT_EQ(place_in(with(batch, {{"SLURM_STEP_ID", "4294967290"}})), kAlone);  // salloc's interactive step
  EXPECT_EQ(place_in(with(batch, {{"SLURM_STEP_ID", "4294967291"}})), kAlone);  // the batch step
  EXPECT_EQ(place_in(with(kSrun, {{"SLURM_PTY_PORT", "41001"}})), kAlone);      // srun --pty bash
}

TEST(Place, SrunCountsTheTasksOfThisNode) {
  const auto local_size = [](const Values& more) { return place_in(with(kSrun, more)).local_size; };
  EXPECT_EQ(
      local_size({{"SLURM_STEP_NUM_TASKS", "20"}, {"SLURM_STEP_TASKS_PER_NODE", "4(x3),8"}, {"SLURM_NODEID", "2"}}), 4);
  EXPECT_EQ(
      local_size({{"SLURM_STEP_NUM_TASKS", "20"}, {"SLURM_STEP_TASKS_PER_NODE", "4(x3),8"}, {"SLURM_NODEID", "3"}}), 8);
  Values plain = kSrun;
  plain.erase("SLURM_TASKS_PER_NODE");
  EXPECT_EQ(place_in(plain).local_size, 3);  // not told: as many as local ranks seen
  EXPECT_EQ(place_in(with(plain, {{"SLURM_NTASKS_PER_NODE", "4"}})).local_size, 4);
  EXPECT_EQ(place_in(with(plain, {{"SLURM_NTASKS_PER_NODE", "64"}})).local_size, 7);
}

TEST(Place, LaunchComesFirstAndLeavesThePortToItsRanks) {
  Values launched = with(kOpenMpi, with(kTorchrun, {{"MEGALITH_LAUNCH_FD", "7"}}));
  Place expected = kTorchrunPlace;
  expected.launcher = "launch";
  expected.master_port -= 1;  // no store is there
  EXPECT_EQ(place_in(launched), expected);
  launched.erase("RANK"), launched.erase("WORLD_SIZE");
  EXPECT_EQ(place_in(launched), kOpenMpiPlace);  // mpirun in a rank of a launch
}

TEST(Place, Precedence) {
  // mpirun within a Slurm job: its daemons are tasks of srun.
  EXPECT_EQ(place_in(with(kSrun, kOpenMpi)), kOpenMpiPlace);
  // torchrun, one by srun or mpirun on each host.
  EXPECT_EQ(place_in(with(kSrun, kTorchrun)), kTorchrunPlace);
  EXPECT_EQ(place_in(with(kOpenMpi, kTorchrun)), kTorchrunPlace);
  // RANK and so on made from Slurm's variables by a script.
  EXPECT_EQ(place_in(with(kSrun, kPyTorchJob)).launcher, "environment");
  // mpirun with RANK made from its own variables.
  EXPECT_EQ(place_in(with(kOpenMpi, {{"RANK", "5"}, {"WORLD_SIZE", "8"}})), kOpenMpiPlace);
  // srun --mpi=pmi2, and MPICH's launcher by way of srun.
  EXPECT_EQ(place_in(with(kSrun, {{"PMI_RANK", "6"}, {"PMI_SIZE", "7"}})), kSrunPlace);
  EXPECT_EQ(place_in(with(kSrun, {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}})).launcher, "mpirun");
}

std::string error_in(const Values& values) {
  try {
    const Place p = place_in(values);
    return "no error, but rank " + std::to_string(p.rank);
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(Place, Errors) {
  const auto expect = [](const Values& values, std::vector<std::string> words) {
    const std::string error = error_in(values);
    for (const std::string& word : words) EXPECT_NE(error.find(word), error.npos) << error << "\nlacks " << word;
    EXPECT_EQ(error.find('\n'), error.npos);
  };
  for (const char* bad : {"x", "-1", "3x", " 3", "3.0", "99999999999999999999", "4294967296"})
    expect(with(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", bad}}),
           {std::string("OMPI_COMM_WORLD_RANK=") + bad, "not an integer"});
  expect(with(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "8"}}), {"OMPI_COMM_WORLD_RANK=8", "OMPI_COMM_WORLD_SIZE=8"});
  expect(with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_RANK", "4"}}), {"OMPI_COMM_WORLD_LOCAL_RANK=4"});
  expect(with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "9"}}), {"OMPI_COMM_WORLD_LOCAL_SIZE=9"});
  expect({{"OMPI_COMM_WORLD_RANK", "1"}}, {"OMPI_COMM_WORLD_SIZE is not set"});
  expect({{"RANK", "1"}}, {"WORLD_SIZE is not set"});
  expect({{"WORLD_SIZE", "2"}}, {"RANK is not set"});
  expect({{"RANK", "0"}, {"WORLD_SIZE", "0"}}, {"WORLD_SIZE=0"});
  expect({{"RANK", "0"}, {"WORLD_SIZE", "2"}}, {"MASTER_ADDR is not set"});
  expect({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}, {"MASTER_PORT is not set"});
  expect(with(kPyTorchJob, {{"MASTER_PORT", "65536"}}), {"MASTER_PORT=65536"});
  expect(with(kTorchrun, {{"MASTER_PORT", "65535"}}), {"MASTER_PORT=65535", "65534"});
  expect(with(kPyTorchJob, {{"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "2"}}), {"LOCAL_RANK=2"});
  expect(with(kOpenMpi, kPyTorchJob), {"disagree", "OMPI_COMM_WORLD_RANK=5", "WORLD_SIZE=4"});
  Values lone = kSrun;
  lone.erase("SLURM_LOCALID");
  expect(lone, {"SLURM_LOCALID is not set"});
  expect(with(kSrun, {{"SLURM_STEP_ID", "one"}}), {"SLURM_STEP_ID=one"});
}

}  // namespace
}  // namespace megalith
