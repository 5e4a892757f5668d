// The commands of jobs, started as the pods of each kind of job start them: with its variables alone.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "submit/job.h"
#include "tests/places.h"

namespace megalith::test {
namespace {

int unused_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
  close(fd);
  return ntohs(at.sin_port);
}

Job two_nodes() {
  Job job;
  job.name = "small", job.nodes = 2, job.gpus_per_node = 2, job.image = "i", job.command = {"pretrain-gpt"};
  return job;
}

// Two pods of two ranks. Each rank writes its place.
class Environments : public ::testing::Test {
 protected:
  Environments() { std::filesystem::create_directories(dir_); }
  ~Environments() override { std::filesystem::remove_all(dir_); }

  // A pod's command, but its ranks are shells, and the host of node 0 is this one.
  std::string line_of(const YAML::Node& words) const {
    std::vector<std::string> out;
    for (std::string word : words.as<std::vector<std::string>>()) {
      if (word == "megalith") word = std::string(kBinaryDir) + "/bin/megalith";
      if (word == "small-node-0-0.small:29500") word = "127.0.0.1:" + port_;
      out.push_back(word);
      if (word == "--") break;
    }
    for (const char* word : {"/bin/sh", "-c", "echo place $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE"})
      out.emplace_back(word);
    return shell_line(out);
  }
  void expect_places(const YAML::Node& first, const std::vector<std::string>& variables, const YAML::Node& second) {
    std::string line = "cd " + dir_;
    for (const int pod : {0, 1})
      line += " && { timeout 60 env -i PATH=/usr/bin:/bin " + variables[size_t(pod)] + " " +
              line_of(pod == 0 ? first : second) + " > out" + std::to_string(pod) + " 2>&1 & }";
    ASSERT_EQ(std::system((line + "; wait").c_str()), 0);
    std::set<std::string> places;
    std::string said;
    for (const int pod : {0, 1}) {
      std::ifstream in(dir_ + "/out" + std::to_string(pod));
      for (std::string text; std::getline(in, text); said += text + "\n")
        if (text.starts_with("place ")) places.insert("pod " + std::to_string(pod) + ": " + text);
    }
    const std::set<std::string> want = {"pod 0: place 0 0 4 2", "pod 0: place 1 1 4 2", "pod 1: place 2 0 4 2",
                                        "pod 1: place 3 1 4 2"};
    EXPECT_EQ(places, want) << said;
  }
  std::vector<std::string> pods(const std::string& index, const std::string& more) const {
    return {index + "=0 " + more, index + "=1 " + more};
  }

  const std::string port_ = std::to_string(unused_port());
  const std::string dir_ = std::filesystem::temp_directory_path() / fmt::format("environments_test_{}", ::getpid());
};

TEST_F(Environments, PyTorchJob) {
  const YAML::Node specs = YAML::Load(pytorch_job(two_nodes()))["spec"]["pytorchReplicaSpecs"];
  const auto words = [&](const char* kind) { return specs[kind]["template"]["spec"]["containers"][0]["command"]; };
  const std::string master = "MASTER_ADDR=127.0.0.1 MASTER_PORT=" + port_;
  expect_places(words("Master"), pods("RANK", "WORLD_SIZE=2 PYTHONUNBUFFERED=1 " + master), words("Worker"));
}

TEST_F(Environments, TrainJob) {
  const YAML::Node words = YAML::Load(train_job(two_nodes()))["spec"]["trainer"]["command"];
  const std::string more =
      "PET_NNODES=2 PET_NPROC_PER_NODE=2 PET_MASTER_ADDR=127.0.0.1 PET_MASTER_PORT=" + port_ + " JOB_COMPLETION_INDEX=";
  expect_places(words, {"PET_NODE_RANK=0 " + more + "0", "PET_NODE_RANK=1 " + more + "1"}, words);
}

// The same variable as that of a plain indexed Job, whose pods JobSet makes.
TEST_F(Environments, JobSetAndAnIndexedJob) {
  const YAML::Node pod = YAML::Load(job_set(two_nodes()))["spec"]["replicatedJobs"][0]["template"]["spec"]["template"];
  const YAML::Node words = pod["spec"]["containers"][0]["command"];
  expect_places(words, pods("JOB_COMPLETION_INDEX", "KUBERNETES_PORT=tcp://10.0.0.1:443"), words);
}

// The launcher's mpirun starts the ranks, so these train: a step of a tiny model.
TEST_F(Environments, MpiJob) {
  if (std::system("command -v mpirun > /dev/null") != 0) GTEST_SKIP() << "no mpirun: scripts/install-deps openmpi-bin";
  if (std::system((std::string(kBinaryDir) + "/bin/megalith --version | grep -q MPI").c_str()) != 0)
    GTEST_SKIP() << "this build has no MPI";
  Job job = two_nodes();
  job.command = {"pretrain-gpt",  "--device",     "cpu", "--mock-data",
                 "--no-progress", "--num-layers", "1",   "--hidden-size"};
  for (const char* word : {"16", "--num-attention-heads", "2", "--seq-length", "8", "--micro-batch-size", "1",
                           "--train-iters", "1", "--vocab-size", "24", "--lr", "0.01", "--eval-iters", "0"})
    job.command.emplace_back(word);
  const YAML::Node spec = YAML::Load(mpi_job(job))["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"];
  std::ofstream(dir_ + "/hostfile") << "localhost slots=4\n";
  const std::string variables = "PATH=" + std::string(kBinaryDir) + "/bin:/usr/bin:/bin HOME=" + dir_ +
                                " OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                                "OMPI_MCA_orte_default_hostfile=" +
                                dir_ + "/hostfile OMP_NUM_THREADS=1";
  const auto words = spec["containers"][0]["command"].as<std::vector<std::string>>();
  const std::string line =
      "cd " + dir_ + " && timeout 120 env -i " + variables + " " + shell_line(words) + " > out 2>&1";
  const int status = std::system(line.c_str());
  std::ifstream in(dir_ + "/out");
  const std::string said{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(status, 0) << said;
  EXPECT_NE(said.find("4 ranks (data 4) on CPU"), std::string::npos) << said;
}

}  // namespace
}  // namespace megalith::test
