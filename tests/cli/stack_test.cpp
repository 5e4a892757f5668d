// Tests of version information: --version, the first lines of the log, checkpoints, and the commit that a build finds.
#include "cli/stack_words.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>

#include "tests/places.h"
#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

class Stack : public Workshop {
 protected:
  // Runs cmake/commit.cmake on the sources in a folder and returns the result.
  std::string commit_of(const std::string& sources) {
    const std::string out = *this / "commit.cpp";
    fs::remove(out);
    const std::string line = fmt::format("cmake -DSOURCE={} -DOUT={} -P {}/cmake/commit.cmake >{} 2>&1", sources, out,
                                         kSourceDir, *this / "cmake.log");
    EXPECT_EQ(std::system(line.c_str()), 0) << slurp(*this / "cmake.log");
    std::smatch found;
    const std::string text = slurp(out);
    return std::regex_search(text, found, std::regex("return \"(.*)\";")) ? found[1].str() : "no text";
  }
  bool runs(const std::string& line) { return std::system(("(" + line + ") >/dev/null 2>&1").c_str()) == 0; }
};

}  // namespace

TEST_F(Stack, VersionHasALineForEachPart) {
  const Ran ran = run_program("megalith", {"--version"});
  ASSERT_TRUE(ran.ok()) << ran.err;
  EXPECT_TRUE(std::regex_search(ran.out, std::regex(R"(^megalith \d+\.\d+\.\d+\n)"))) << ran.out;
  EXPECT_TRUE(std::regex_search(ran.out, std::regex(R"(\n(GCC|Clang) \d+\.)"))) << ran.out;
  EXPECT_TRUE(std::regex_search(ran.out, std::regex(R"(\noneDNN \d+\.\d+\.\d+\n)"))) << ran.out;
  EXPECT_EQ(ran.out.find('/'), std::string::npos) << "a path: " << ran.out;
  EXPECT_NE(run_program("megalith", {"--help"}).out.find("megalith --version"), std::string::npos);
}

TEST_F(Stack, TheLogAndTheCheckpointHaveIt) {
  ASSERT_EQ(setenv("MEGALITH_IMAGE_DIGEST", "sha256:0123\n<b>", 1), 0);
  const Ran version = run_program("megalith", {"--version"});
  const Ran ran = must(pretrain("--train-iters 1 --save-interval 1 --save " + *this / "ck"));
  unsetenv("MEGALITH_IMAGE_DIGEST");
  EXPECT_NE(version.out.find("\nimage sha256:0123\\n<b>\n"), std::string::npos) << version.out;
  std::string line = version.out.substr(0, version.out.size() - 1);
  line = std::regex_replace(line, std::regex("\n"), "; ");
  const std::string blanks = std::regex_replace(ran.out, std::regex("\\s+"), " ");
  EXPECT_NE(blanks.find("stack " + line), std::string::npos) << ran.out;
  std::string quoted;
  for (const char c : line) quoted += c == '\\' ? "\\\\" : std::string(1, c);
  bool found = false;
  for (const auto& file : fs::directory_iterator(*this / "ck/iter_0000001"))
    if (file.path().extension() == ".json")
      found |= slurp(file.path()).find("\"stack\": \"" + quoted + "\"") != std::string::npos;
  EXPECT_TRUE(found);
  EXPECT_NE(slurp(*this / "ck/goodput.jsonl").find(quoted), std::string::npos);
}

TEST_F(Stack, ShortensWhatLibrariesSay) {
  EXPECT_EQ(short_mpi_version("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022"),
            "Open MPI 4.1.4");
  EXPECT_EQ(short_mpi_version("MPICH Version:      4.0.2\nMPICH Release date: Thu"), "MPICH 4.0.2");
  EXPECT_EQ(short_mpi_version("Intel(R) MPI Library 2021.10 for Linux* OS\n"), "Intel(R) MPI 2021.10");
  EXPECT_EQ(short_mpi_version("/home/me/build"), "");
  EXPECT_EQ(short_mpi_version(""), "");
  EXPECT_EQ(driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\n"
                           "GCC version:  gcc version 12.2.0\n"),
            "535.129.03");
  EXPECT_EQ(driver_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  Release Build\n"),
            "560.35.03");
  EXPECT_EQ(driver_version("nonsense\n1.2.3"), "");
}

// An unpacked archive has no commit, even in a subfolder of another project's checkout.
TEST_F(Stack, ABuildFindsTheCommitOfItsOwnCheckout) {
  if (!runs("git --version") || !runs("cmake --version")) GTEST_SKIP() << "there is no git, or no cmake";
  fs::create_directories(*this / "archive");
  EXPECT_EQ(commit_of(*this / "archive"), "");
  const std::string outer = *this / "outer";
  fs::create_directories(outer + "/inner");
  spit(outer + "/inner/file", "a");
  ASSERT_TRUE(
      runs(fmt::format("cd {} && git init && git add . && git -c user.name=a -c user.email=a@b commit -m a", outer)));
  EXPECT_TRUE(std::regex_match(commit_of(outer), std::regex("[0-9a-f]{12,}"))) << commit_of(outer);
  EXPECT_EQ(commit_of(outer + "/inner"), "");
  spit(outer + "/inner/file", "b");
  EXPECT_TRUE(std::regex_match(commit_of(outer), std::regex("[0-9a-f]{12,} with changes"))) << commit_of(outer);
}

}  // namespace megalith::test
