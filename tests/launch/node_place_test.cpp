// Tests how the launch finds its node's index in the variables of a scheduler.
#include "launch/node_place.h"

#include <gtest/gtest.h>

#include <map>

#include "base/check.h"
#include "launch/resume_advice.h"

namespace megalith::launch {
namespace {

using Values = std::map<std::string, std::string>;

NodePlace node_in(const Values& values, const std::vector<std::string>& flags = {}, int gpus = 0) {
  std::vector<std::string> words = flags;
  words.insert(words.end(), {"--", "pretrain-gpt"});
  const Environment env = [&](const char* name) -> const char* {
    const auto at = values.find(name);
    return at == values.end() ? nullptr : at->second.c_str();
  };
  return find_node(read_settings(words), env, gpus, 16);
}

std::string error_in(const Values& values, const std::vector<std::string>& flags = {}) {
  try {
    return "no error, but node " + std::to_string(node_in(values, flags).node);
  } catch (const Error& e) {
    return e.what();
  }
}

const Values kSlurm = {{"SLURM_PROCID", "2"},
                       {"SLURM_STEP_ID", "0"},
                       {"SLURM_NODEID", "2"},
                       {"SLURM_LOCALID", "0"},
                       {"SLURM_STEP_NUM_NODES", "4"},
                       {"SLURM_NTASKS", "4"},
                       {"SLURM_STEP_NODELIST", "gpu-a[03-05,9],b1"}};
const Values kPet = {{"PET_NODE_RANK", "1"},
                     {"PET_NNODES", "3"},
                     {"PET_NPROC_PER_NODE", "2"},
                     {"PET_RDZV_ENDPOINT", "job-worker-0:29500"}};
const Values kPyTorchJob = {
    {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "job-master-0"}, {"MASTER_PORT", "23456"}};

TEST(NodePlace, IsAloneWhereNothingIsTold) { EXPECT_EQ(node_in({}), NodePlace{}); }

TEST(NodePlace, TakesSlurmsTaskOfANode) {
  EXPECT_EQ(node_in(kSlurm), (NodePlace{.node = 2, .nodes = 4, .host = "gpu-a03", .port = 29400}));
  Values batch = kSlurm;
  batch["SLURM_STEP_ID"] = "4294967291";
  EXPECT_EQ(node_in(batch), NodePlace{}) << "a batch script is no task";
  Values second = kSlurm;
  second["SLURM_LOCALID"] = "1";
  EXPECT_NE(error_in(second).find("--ntasks-per-node 1"), std::string::npos) << error_in(second);
}

TEST(NodePlace, TakesPodsOfKubernetes) {
  EXPECT_EQ(node_in(kPet), (NodePlace{.node = 1, .nodes = 3, .host = "job-worker-0", .port = 29500, .ranks = 2}));
  EXPECT_EQ(node_in(kPyTorchJob, {"--nproc_per_node=8"}),
            (NodePlace{.node = 1, .nodes = 2, .host = "job-master-0", .port = 23456, .ranks = 8}));
  const Values indexed = {{"JOB_COMPLETION_INDEX", "3"}};
  EXPECT_EQ(node_in(indexed, {"--nnodes", "4", "--rdzv-endpoint", "job-0.svc"}),
            (NodePlace{.node = 3, .nodes = 4, .host = "job-0.svc", .port = 29400}));
}

TEST(NodePlace, FlagsComeFirst) {
  EXPECT_EQ(node_in(kPet, {"--nnodes", "2", "--node_rank", "0", "--rdzv_endpoint=a:1", "--nproc-per-node", "4"}),
            (NodePlace{.node = 0, .nodes = 2, .host = "a", .port = 1, .ranks = 4}));
  EXPECT_EQ(node_in(kSlurm, {"--standalone"}), NodePlace{});
  EXPECT_EQ(node_in({}, {"--nnodes", "2:2", "--node-rank", "1", "--master-addr", "a", "--master-port", "7"}),
            (NodePlace{.node = 1, .nodes = 2, .host = "a", .port = 7}));
  EXPECT_EQ(node_in({}, {"--nnodes", "2:4", "--node-rank", "1", "--rdzv-endpoint", "a:7"}),
            (NodePlace{.node = 1, .nodes = 4, .least_nodes = 2, .host = "a", .port = 7}));
}

TEST(NodePlace, CountsRanks) {
  EXPECT_EQ(node_in({}, {}, 4).ranks, 4);
  EXPECT_EQ(node_in({}, {"--nproc-per-node", "gpu"}, 4).ranks, 4);
  EXPECT_EQ(node_in({}, {"--nproc-per-node", "cpu"}, 4).ranks, 16);
  EXPECT_EQ(node_in({}, {"--nproc-per-node", "auto"}).ranks, 1);
  EXPECT_NE(error_in({}, {"--nproc-per-node", "gpu"}).find("has none"), std::string::npos);
}

TEST(NodePlace, SaysWhatIsMissingOrWrong) {
  const auto expect = [](const std::vector<std::string>& flags, const std::string& part, const Values& values = {}) {
    const std::string error = error_in(values, flags);
    EXPECT_NE(error.find(part), std::string::npos) << error << "\nlacks " << part;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  };
  expect({"--nnodes", "2"}, "--node-rank R");
  expect({"--nnodes", "2", "--node-rank", "1"}, "--rdzv-endpoint HOST:PORT");
  expect({"--nnodes", "2", "--node-rank", "2", "--rdzv-endpoint", "a"}, "--node-rank 2 is not below --nnodes 2");
  expect({"--nnodes", "4:2", "--node-rank", "0"}, "--nnodes 4:2");
  expect({"--nnodes", "x"}, "--nnodes x");
  expect({"--nproc-per-node", "0"}, "--nproc-per-node 0");
  expect({"--rdzv-endpoint", "a:b"}, "--node-rank",
         {{"PET_NNODES", "2"}, {"PET_NODE_RANK", ""}, {"JOB_COMPLETION_INDEX", ""}});
}

TEST(NodePlace, ReadsSlurmsLists) {
  EXPECT_EQ(first_host("node7"), "node7");
  EXPECT_EQ(first_host("a,b[1-2]"), "a");
  EXPECT_EQ(first_host("n[08-11,20]"), "n08");
  EXPECT_EQ(first_host("n[3].rack,n4"), "n3.rack");
}

TEST(LaunchSettings, SplitsFlagsFromTheCommand) {
  const Settings s =
      read_settings({"--nproc_per_node", "2", "-t", "3", "--no-python", "pretrain-gpt", "--tee", "--", "x"});
  EXPECT_EQ(s.nproc_per_node, "2");
  EXPECT_TRUE(s.tees(1) && s.tees(2) && !s.redirects_to_file(1));
  EXPECT_EQ(s.command, (std::vector<std::string>{"pretrain-gpt", "--tee", "--", "x"}));
}

TEST(LaunchSettings, SayWhatACommandLacksToGoOn) {
  const auto advice = [](std::vector<std::string> words) {
    words.insert(words.begin(), "pretrain-gpt");
    return resume_advice(words);
  };
  EXPECT_EQ(advice({"--save", "a", "--load=a"}), "");
  EXPECT_EQ(advice({"--config", "run.yaml"}), "");
  EXPECT_NE(advice({}).find("no --save"), std::string::npos);
  EXPECT_NE(advice({"--save=a"}).find("no --load a"), std::string::npos);
  EXPECT_NE(advice({"--save", "a", "--load", "b"}).find("--load b is not --save a"), std::string::npos);
  EXPECT_EQ(resume_advice({"/bin/true"}), "");
}

TEST(LaunchSettings, RefusesByName) {
  const auto error = [](std::vector<std::string> words) -> std::string {
    words.insert(words.end(), {"--", "pretrain-gpt"});
    try {
      read_settings(words);
    } catch (const std::exception& e) {
      return e.what();
    }
    return "no error";
  };
  for (const char* flag : {"--snapshot-replicate", "--wait-for-spare-seconds"})
    EXPECT_NE(error({flag, "3"}).find(std::string(flag) + ":"), std::string::npos) << error({flag, "3"});
  EXPECT_NE(error({"--elastic", "shrink"}).find("--elastic"), std::string::npos);
  EXPECT_EQ(error({"--elastic", "off", "--snapshot_steps=0", "--snapshot-replicas", "0"}), "no error");
  EXPECT_EQ(error({"--snapshot-steps", "5", "--snapshot-replicas", "2"}), "no error");
  EXPECT_EQ(error({"--elastic-layouts", "auto", "--min-ranks", "1"}), "no error");
  EXPECT_EQ(error({"--elastic-layouts", "auto", "--nnodes", "1:2"}), "no error");
  EXPECT_NE(error({"--elastic-layouts", "auto"}).find("--elastic-layouts auto is for fewer ranks"), std::string::npos);
  EXPECT_NE(error({"--snapshot-replicas", "2"}).find("give --snapshot-steps"), std::string::npos);
  EXPECT_NE(error({"--snapshot-replicas", "-1"}).find("--snapshot-replicas -1"), std::string::npos);
  EXPECT_NE(error({"--snapshot-steps", "-1"}).find("--snapshot-steps -1"), std::string::npos);
  EXPECT_NE(error({"--redirects", "3"}).find("--log-dir"), std::string::npos);
  EXPECT_NE(error({"--tee", "0:1"}).find("--tee 0:1"), std::string::npos);
  EXPECT_NE(error({"--run-id", "a/b"}).find("a/b"), std::string::npos);
  EXPECT_NE(error({"--max-restart", "3"}).find("--max-restarts"), std::string::npos);
}

}  // namespace
}  // namespace megalith::launch
