// Jobs as their schedulers read them: by YAML's parser and by bash.
#include "submit/job.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "cli/command.h"
#include "tests/error_of.h"

namespace megalith::test {
namespace {

const std::vector<std::string> kCommand = {"pretrain-gpt", "--data-path", "a b'c\"d\\$HOME", "--lr", "1e-4"};

Job job_of(i64 nodes) {
  Job job;
  job.name = "small", job.nodes = nodes, job.gpus_per_node = 4, job.image = "registry/megalith:1", job.queue = "night";
  job.volumes = {{"data", "/data"}}, job.command = kCommand;
  return job;
}

// The words behind the last "--", or behind "megalith".
std::vector<std::string> trained(const YAML::Node& container) {
  const auto words = container["command"].as<std::vector<std::string>>();
  return {words.end() - i64(kCommand.size()), words.end()};
}

void expect_pod(const YAML::Node& spec, bool gpus) {
  const YAML::Node container = spec["containers"][0];
  EXPECT_EQ(container["image"].Scalar(), "registry/megalith:1");
  if (gpus) EXPECT_EQ(container["resources"]["limits"]["nvidia.com/gpu"].as<int>(), 4);
  EXPECT_EQ(spec["volumes"][0]["emptyDir"]["medium"].Scalar(), "Memory");
  EXPECT_EQ(container["volumeMounts"][0]["mountPath"].Scalar(), "/dev/shm");
  EXPECT_EQ(spec["volumes"][1]["persistentVolumeClaim"]["claimName"].Scalar(), "data");
  EXPECT_EQ(container["volumeMounts"][1]["mountPath"].Scalar(), "/data");
  EXPECT_TRUE(spec["securityContext"]["runAsNonRoot"].as<bool>());
  EXPECT_GT(spec["terminationGracePeriodSeconds"].as<int>(), 0);
}

TEST(Jobs, PyTorchJobHasAMasterAndWorkers) {
  const YAML::Node job = YAML::Load(pytorch_job(job_of(3)));
  EXPECT_EQ(job["apiVersion"].Scalar(), "kubeflow.org/v1");
  EXPECT_EQ(job["kind"].Scalar(), "PyTorchJob");
  EXPECT_EQ(job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"].Scalar(), "night");
  const YAML::Node specs = job["spec"]["pytorchReplicaSpecs"];
  EXPECT_EQ(specs["Master"]["replicas"].as<int>(), 1);
  EXPECT_EQ(specs["Worker"]["replicas"].as<int>(), 2);
  for (const char* kind : {"Master", "Worker"}) {
    EXPECT_EQ(specs[kind]["restartPolicy"].Scalar(), "OnFailure");
    expect_pod(specs[kind]["template"]["spec"], true);
    EXPECT_EQ(specs[kind]["template"]["spec"]["containers"][0]["name"].Scalar(), "pytorch");
    EXPECT_EQ(trained(specs[kind]["template"]["spec"]["containers"][0]), kCommand);
  }
  EXPECT_FALSE(YAML::Load(pytorch_job(job_of(1)))["spec"]["pytorchReplicaSpecs"]["Worker"]);
}

TEST(Jobs, TrainJobNamesItsRuntime) {
  const YAML::Node job = YAML::Load(train_job(job_of(2)));
  EXPECT_EQ(job["apiVersion"].Scalar(), "trainer.kubeflow.org/v1alpha1");
  EXPECT_EQ(job["spec"]["runtimeRef"]["name"].Scalar(), "torch-distributed");
  const YAML::Node trainer = job["spec"]["trainer"];
  EXPECT_EQ(trainer["numNodes"].as<int>(), 2);
  EXPECT_EQ(trainer["resourcesPerNode"]["limits"]["nvidia.com/gpu"].as<int>(), 4);
  EXPECT_EQ(trained(trainer), kCommand);
  const YAML::Node runtime = job["spec"]["runtimePatches"][0]["trainingRuntimeSpec"];
  const YAML::Node node = runtime["template"]["spec"]["replicatedJobs"][0];
  EXPECT_EQ(node["name"].Scalar(), "node");
  const YAML::Node pod = node["template"]["spec"]["template"]["spec"];
  EXPECT_EQ(pod["containers"][0]["volumeMounts"][1]["mountPath"].Scalar(), "/data");
  EXPECT_EQ(pod["volumes"][0]["emptyDir"]["medium"].Scalar(), "Memory");
  EXPECT_TRUE(pod["securityContext"]["runAsNonRoot"].as<bool>());
  EXPECT_GT(pod["terminationGracePeriodSeconds"].as<int>(), 0);
}

TEST(Jobs, JobSetHasAPodForEachNode) {
  const YAML::Node job = YAML::Load(job_set(job_of(3)));
  EXPECT_EQ(job["apiVersion"].Scalar(), "jobset.x-k8s.io/v1alpha2");
  EXPECT_GT(job["spec"]["failurePolicy"]["maxRestarts"].as<int>(), 0);
  const YAML::Node node = job["spec"]["replicatedJobs"][0];
  EXPECT_EQ(node["replicas"].as<int>(), 1);
  const YAML::Node batch = node["template"]["spec"];
  EXPECT_EQ(batch["parallelism"].as<int>(), 3);
  EXPECT_EQ(batch["completions"].as<int>(), 3);
  EXPECT_EQ(batch["completionMode"].Scalar(), "Indexed");
  EXPECT_EQ(batch["backoffLimit"].as<int>(), 0);
  EXPECT_EQ(batch["template"]["spec"]["restartPolicy"].Scalar(), "Never");
  expect_pod(batch["template"]["spec"], true);
  const YAML::Node container = batch["template"]["spec"]["containers"][0];
  EXPECT_EQ(trained(container), kCommand);
  const auto words = container["command"].as<std::vector<std::string>>();
  const auto endpoint = std::find(words.begin(), words.end(), "--rdzv-endpoint");
  ASSERT_NE(endpoint, words.end());
  EXPECT_EQ(*(endpoint + 1), "small-node-0-0.small:29500");
}

TEST(Jobs, MpiJobStartsAllRanks) {
  const YAML::Node spec = YAML::Load(mpi_job(job_of(3)))["spec"];
  EXPECT_EQ(spec["slotsPerWorker"].as<int>(), 4);
  const YAML::Node launcher = spec["mpiReplicaSpecs"]["Launcher"]["template"]["spec"];
  expect_pod(launcher, false);
  expect_pod(spec["mpiReplicaSpecs"]["Worker"]["template"]["spec"], true);
  EXPECT_EQ(spec["mpiReplicaSpecs"]["Worker"]["replicas"].as<int>(), 3);
  EXPECT_EQ(launcher["containers"][0]["command"][2].Scalar(), "12");
  EXPECT_EQ(trained(launcher["containers"][0]), kCommand);
}

// A folder with programs that stand in for Slurm's and write what they were called with.
class Slurm : public ::testing::Test {
 protected:
  Slurm() {
    std::filesystem::create_directories(dir_);
    tool("scontrol", "if [ \"$1\" = show ]; then printf 'n1\\nn2\\n'; else echo \"$@\" >> " + dir_ + "/asked; fi\n");
  }
  ~Slurm() override { std::filesystem::remove_all(dir_); }

  void tool(const std::string& name, const std::string& text) {
    const std::string path = dir_ + "/" + name;
    std::ofstream(path) << "#!/bin/bash\n" << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  int run(const Job& job) {
    std::ofstream(dir_ + "/job.sh") << slurm_script(job);
    const std::string line =
        "cd " + dir_ + " && PATH=" + dir_ + ":$PATH SLURM_JOB_NODELIST='n[1-2]' SLURM_JOB_ID=7 timeout 20 bash job.sh";
    const int status = std::system(line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(dir_ + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string dir_ = std::filesystem::temp_directory_path() / fmt::format("submit_test_{}", ::getpid());
};

TEST_F(Slurm, StartsALaunchWithTheWordsAsTheyAre) {
  tool("srun", "printf '%s\\n' \"$@\" > " + dir_ + "/words\n");
  EXPECT_EQ(run(job_of(2)), 0);
  std::string want;
  for (const std::string& word : kCommand) want += word + "\n";
  const std::string words = read("words");
  EXPECT_TRUE(words.ends_with("--nproc-per-node\n4\n--\n" + want)) << words;
  EXPECT_NE(words.find("--rdzv-endpoint\nn1:29500\n"), std::string::npos) << words;
  const std::string text = read("job.sh");
  for (const char* part : {"--nodes=2", "--ntasks-per-node=1", "--gpus-per-node=4", "--exclusive", "--requeue",
                           "--open-mode=append", "--signal=B:USR2@120", "--partition=night"})
    EXPECT_NE(text.find(std::string("#SBATCH ") + part + "\n"), std::string::npos) << part;
  EXPECT_NE(words.find("--container-mounts=data:/data\n"), std::string::npos) << words;
}

TEST_F(Slurm, RequeuesOn85AndStopsOnAllElse) {
  tool("srun", "exit 85\n");
  EXPECT_EQ(run(job_of(2)), 0);
  EXPECT_EQ(read("asked"), "requeue 7\n");
  std::filesystem::remove(dir_ + "/asked");
  tool("srun", "exit 93\n");
  EXPECT_EQ(run(job_of(2)), 93);
  EXPECT_EQ(read("asked"), "");
}

// srun's signal comes back as a code only after the trap: the script waits again.
TEST_F(Slurm, PassesUsr2OnAndWaitsForTheEnd) {
  tool("srun", "trap 'exit 85' USR2\nkill -USR2 $PPID\nfor i in $(seq 100); do sleep 0.1; done\nexit 1\n");
  EXPECT_EQ(run(job_of(2)), 0);
  EXPECT_EQ(read("asked"), "requeue 7\n");
}

TEST_F(Slurm, DockerRunsTheWordsAsTheyAre) {
  tool("docker", "printf '%s\\n' \"$@\" > " + dir_ + "/words\n");
  std::ofstream(dir_ + "/job.sh") << docker_script(job_of(1));
  ASSERT_EQ(std::system(("PATH=" + dir_ + ":$PATH sh " + dir_ + "/job.sh").c_str()), 0);
  const std::string words = read("words");
  EXPECT_NE(words.find("--volume\ndata:/data\n"), std::string::npos) << words;
  EXPECT_NE(words.find("\na b'c\"d\\$HOME\n--lr\n1e-4\n"), std::string::npos) << words;
}

template <class... W>
std::string submitted(W... words) {
  const char* argv[] = {"submit", words...};
  ::testing::internal::CaptureStdout();
  try {
    EXPECT_EQ(command_submit(int(std::size(argv)), argv), 0);
  } catch (const Error&) {
    (void)::testing::internal::GetCapturedStdout();
    throw;
  }
  return ::testing::internal::GetCapturedStdout();
}

TEST_F(Slurm, TheCommandPrintsOrWritesTheJob) {
  const std::string file = dir_ + "/out.yaml";
  const std::string printed = submitted("--jobset", "--image", "i", "--nodes", "2", "--volume", "d:/d", "--dry-run",
                                        "--", "pretrain-gpt", "--lr", "1");
  EXPECT_EQ(YAML::Load(printed)["spec"]["replicatedJobs"][0]["template"]["spec"]["completions"].as<int>(), 2);
  submitted("--jobset", "--image", "i", "--nodes", "2", "--volume", "d:/d", "--out", file.c_str(), "--", "pretrain-gpt",
            "--lr", "1");
  EXPECT_EQ(read("out.yaml"), printed);
  const auto told = [](auto... words) { return error_of([&] { (void)submitted(words...); }); };
  EXPECT_NE(told("--slurm", "--docker", "--dry-run", "--", "pretrain-gpt").find("2 kinds"), std::string::npos);
  EXPECT_NE(told("--dry-run", "--", "pretrain-gpt").find("no kind of job is given: give one of --slurm, --pytorchjob"),
            std::string::npos);
  EXPECT_EQ(told("--dry-run", "--", "pretrain-gpt").find("--image"), std::string::npos);  // Slurm needs none
  EXPECT_NE(told("--slurm", "--", "pretrain-gpt").find("--out FILE"), std::string::npos);
  EXPECT_NE(told("--docker", "--image", "i", "--nodes", "2", "--dry-run", "--", "pretrain-gpt").find("one node"),
            std::string::npos);
  EXPECT_NE(told("--slurm", "--out", "/nowhere/x", "--", "pretrain-gpt").find("can't be written"), std::string::npos);
}

TEST_F(Slurm, TheNameOfARecipeGivesTheNodes) {
  const auto printed = [](auto... words) { return submitted("--slurm", "--dry-run", words...); };
  EXPECT_NE(printed("--", "pretrain-gpt", "--recipe", "llama3-70b@256").find("--nodes=32"), std::string::npos);
  EXPECT_NE(printed("--gpus-per-node", "4", "--", "pretrain-gpt", "--recipe=llama3.1-8b:sft@8").find("--nodes=2"),
            std::string::npos);
  EXPECT_NE(printed("--", "pretrain-gpt", "--recipe", "llama3-70b").find("--nodes=1"), std::string::npos);
  const auto told = [](auto... words) { return error_of([&] { (void)submitted("--slurm", "--dry-run", words...); }); };
  EXPECT_NE(told("--nodes", "4", "--", "pretrain-gpt", "--recipe", "llama3-70b@256")
                .find("on 256 GPUs, and not on 4 nodes of 8: leave --nodes out, or @256"),
            std::string::npos);
  EXPECT_NE(told("--", "pretrain-gpt", "--recipe", "llama3-70b@12").find("--gpus-per-node that divides 12"),
            std::string::npos);
  EXPECT_NE(told("--", "pretrain-gpt", "--recipe", "lama3-70b").find("nearest are llama3"), std::string::npos);
}

// All mistakes are told before a job is written. A --config file may exist only where the job runs.
TEST_F(Slurm, TheFlagsOfTheTrainingAreRead) {
  const auto told = [](auto... words) { return error_of([&] { (void)submitted("--slurm", "--dry-run", words...); }); };
  const std::string all =
      told("--nodes", "0x", "--", "pretrain-gpt", "--recipe", "llama3-8b", "--num-layrs", "3", "--lr", "fast", "more");
  for (const char* part : {"pretrain-gpt: unknown flag --num-layrs: the nearest known one is --num-layers",
                           "pretrain-gpt: --lr", "unexpected argument 'more'", "--nodes"})
    EXPECT_NE(all.find(part), std::string::npos) << part << "\n" << all;
  EXPECT_EQ(told("--", "pretrain-gpt", "--config", "/nowhere/run.yaml", "--lr", "1"), "");
  EXPECT_EQ(told("--", "pretrain-gpt", "--config=/nowhere/run.yaml", "--num-layers", "3"), "");
  std::ofstream(dir_ + "/run.yaml") << "num-layrs: 3\n";
  EXPECT_NE(told("--", "pretrain-gpt", "--config", (dir_ + "/run.yaml").c_str()).find("num-layrs"), std::string::npos);
}

// The command with the stand-ins alone in PATH.
int sent(const std::string& path, std::vector<const char*> words) {
  const std::string before = std::getenv("PATH");
  words.insert(words.begin(), "submit");
  words.insert(words.end(), {"--send", "--", "pretrain-gpt", "--lr", "1"});
  setenv("PATH", path.c_str(), 1);
  int status = -1;
  const std::string error = error_of([&] { status = command_submit(int(words.size()), words.data()); });
  setenv("PATH", before.c_str(), 1);
  check(error.empty(), "{}", error);
  return status;
}

TEST_F(Slurm, TheSchedulerGetsTheJob) {
  tool("sbatch", "cat > " + dir_ + "/got\nexit 3\n");
  tool("kubectl", "echo \"$@\" > " + dir_ + "/words\ncat > " + dir_ + "/got\n");
  tool("docker", "printf '%s\\n' \"$@\" > " + dir_ + "/words\n");
  const std::string path = dir_ + ":/usr/bin:/bin";
  EXPECT_EQ(sent(path, {"--slurm", "--nodes", "2"}), 3);
  EXPECT_EQ(read("got"), submitted("--slurm", "--nodes", "2", "--dry-run", "--", "pretrain-gpt", "--lr", "1"));
  EXPECT_EQ(sent(path, {"--jobset", "--image", "i"}), 0);
  EXPECT_EQ(read("got"), submitted("--jobset", "--image", "i", "--dry-run", "--", "pretrain-gpt", "--lr", "1"));
  EXPECT_EQ(read("words"), "create -f -\n");
  EXPECT_EQ(sent(path, {"--docker", "--image", "i"}), 0);
  EXPECT_NE(read("words").find("\npretrain-gpt\n--lr\n1\n"), std::string::npos);
  tool("sbatch", "exit 1\n");  // reads nothing
  EXPECT_EQ(sent(path, {"--slurm"}), 1);
  std::filesystem::remove(dir_ + "/kubectl");
  EXPECT_NE(error_of([&] {
              (void)sent(dir_, {"--jobset", "--image", "i"});
            }).find("kubectl does not start"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              (void)sent(dir_, {"--slurm", "--dry-run"});
            }).find("--dry-run sends nothing"),
            std::string::npos);
}

TEST(Jobs, WhatIsNoJobIsRefused) {
  const auto told = [](auto change) {
    Job job = job_of(1);
    change(job);
    return error_of([&] { check_job(job, true); });
  };
  EXPECT_EQ(told([](Job&) {}), "");
  EXPECT_NE(told([](Job& j) { j.name = "Big_job"; }).find("--name"), std::string::npos);
  EXPECT_NE(told([](Job& j) { j.nodes = 0; }).find("--nodes 0"), std::string::npos);
  EXPECT_NE(told([](Job& j) { j.image = ""; }).find("--image is required"), std::string::npos);
  EXPECT_NE(told([](Job& j) { j.image = "a\nb"; }).find("--image"), std::string::npos);
  EXPECT_NE(told([](Job& j) { j.time = "1\n#SBATCH"; }).find("--time"), std::string::npos);
  EXPECT_NE(told([](Job& j) { j.command.clear(); }).find("after --"), std::string::npos);
  EXPECT_NE(told([](Job& j) { j.command = {"rm"}; }).find("no training command"), std::string::npos);
  EXPECT_NE(error_of([] { (void)parse_volume("data"); }).find("CLAIM:/PATH"), std::string::npos);
}

}  // namespace
}  // namespace megalith::test
