// Each kind of job beside its file in golden/, and judged by yamllint and shellcheck.
// The golden files are those of `megalith submit --dry-run` with the settings below.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "submit/job.h"
#include "tests/places.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

// The name of a golden file, and what makes it.
const std::vector<std::pair<std::string, std::string (*)(const Job&)>> kFiles = {
    {"slurm.sh", slurm_script},   {"docker.sh", docker_script}, {"pytorchjob.yaml", pytorch_job},
    {"trainjob.yaml", train_job}, {"jobset.yaml", job_set},     {"mpijob.yaml", mpi_job}};

class JobFiles : public ::testing::Test {
 protected:
  JobFiles() {
    fs::create_directories(dir_);
    Job job;
    job.name = "small", job.nodes = 2, job.gpus_per_node = 4, job.image = "registry/megalith:1", job.queue = "night";
    job.volumes = {{"data", "/data"}};
    job.command = {"pretrain-gpt", "--data-path", "a b'c\"d\\$HOME", "--lr", "1e-4"};
    for (const auto& [name, make] : kFiles) {
      if (name == "docker.sh") job.nodes = 1;
      std::ofstream(dir_ + "/" + name) << make(job);
      job.nodes = 2;
    }
  }
  ~JobFiles() override { fs::remove_all(dir_); }

  // 0, or the exit status; what it says is in `said`.
  int run(const std::string& line) {
    const int status = std::system(("cd " + dir_ + " && " + line + " > said 2>&1").c_str());
    std::ifstream in(dir_ + "/said");
    said = {std::istreambuf_iterator<char>(in), {}};
    return status;
  }

  std::string said;
  const std::string dir_ = fs::temp_directory_path() / fmt::format("job_files_test_{}", ::getpid());
};

TEST_F(JobFiles, AreTheGoldenOnes) {
  for (const auto& [name, make] : kFiles) {
    const std::string golden = std::string(kSourceDir) + "/tests/submit/golden/" + name;
    EXPECT_EQ(run("diff -u " + shell_word(golden) + " " + name), 0) << said;
  }
}

TEST_F(JobFiles, PleaseYamllint) {
  if (run("command -v yamllint") != 0) GTEST_SKIP() << "no yamllint: scripts/install-deps yamllint";
  EXPECT_EQ(run("yamllint --strict -d '{extends: default, rules: {document-start: disable, line-length: disable}}' "
                "*.yaml"),
            0)
      << said;
}

TEST_F(JobFiles, FitTheSchemasOfTheirKinds) {
  const std::string check = std::string(kSourceDir) + "/scripts/check-jobs";
  const int status = run(shell_word(check) + " \"$HOME/.cache/megalith/crds\" *.yaml");
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << said;
  EXPECT_EQ(status, 0) << said;
}

TEST_F(JobFiles, PleaseShellcheck) {
  if (run("command -v shellcheck") != 0) GTEST_SKIP() << "no shellcheck: scripts/install-deps shellcheck";
  // SC2016 tells of the $ in a word of the command, which stays as it is.
  EXPECT_EQ(run("shellcheck --exclude SC2016 *.sh"), 0) << said;
}

}  // namespace
}  // namespace megalith::test
