// The archives of a build without a network: which the list has, and what is told of a wrong one.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/places.h"

namespace megalith {
namespace {

constexpr const char* kDigestOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

struct Said {
  int code;
  std::string text;
};

class Offline : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(dir_ + "/mirror/pool");
    write("mirror/pool/abc_1_all.deb", "abc");
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  void write(const std::string& file, const std::string& text) const { std::ofstream(dir_ + "/" + file) << text; }
  void write_list(const std::string& digest) const { write("list", "abc 1 pool/abc_1_all.deb " + digest + "\n"); }
  // A script with its standard error, run in the test's folder.
  Said run(const std::string& script, const std::string& words) const {
    const std::string command =
        "cd '" + dir_ + "' && '" + std::string(kSourceDir) + "/scripts/" + script + "' " + words;
    Said said;
    std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    for (char buffer[4096]; const size_t n = std::fread(buffer, 1, sizeof buffer, pipe);) said.text.append(buffer, n);
    said.code = WEXITSTATUS(pclose(pipe));
    return said;
  }
  Said fetch(const std::string& mirror = "mirror") const {
    return run("fetch-archives", "archives --list list --mirror 'file://" + dir_ + "/" + mirror + "'");
  }
  bool has(const std::string& file) const { return std::filesystem::exists(dir_ + "/" + file); }
  const std::string dir_ = testing::TempDir() + "megalith-offline-" + std::to_string(getpid());
};

void expect_a_line(const Said& said, const std::string& part) {
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.text.find(part), std::string::npos) << said.text;
  EXPECT_EQ(said.text.find('\n'), said.text.size() - 1) << said.text;
}

TEST_F(Offline, the_list_has_all_that_the_build_installs) {
  std::ifstream file(std::string(kSourceDir) + "/scripts/archives.txt");
  std::ostringstream list;
  list << "\n" << file.rdbuf();
  std::istringstream names(run("install-deps", "--list").text);
  size_t found = 0;
  for (std::string name; names >> name; ++found)
    EXPECT_NE(list.str().find("\n" + name + " "), std::string::npos)
        << name << ": run scripts/fetch-archives --make-list";
  EXPECT_GE(found, 20u);
}

TEST_F(Offline, archives_are_fetched_once_and_held_to_their_checksums) {
  write_list(kDigestOfAbc);
  EXPECT_EQ(fetch().text, "1 archives of 0 MB are right in archives; 1 are new\n");
  EXPECT_EQ(fetch("nowhere").text, "1 archives of 0 MB are right in archives; 0 are new\n");
  write("archives/abc_1_all.deb", "abd");
  expect_a_line(fetch(), "abc_1_all.deb has the SHA-256");
  std::filesystem::remove_all(dir_ + "/archives");
  expect_a_line(fetch("nowhere"), "--mirror");
  write_list(std::string(64, '0'));
  expect_a_line(fetch(), "the mirror has another file");
  EXPECT_FALSE(has("archives/abc_1_all.deb"));
  write("list", "abc 1\n");
  expect_a_line(fetch(), "list line 1: a line is NAME VERSION ADDRESS SHA256");
}

TEST_F(Offline, a_build_stops_at_a_missing_or_wrong_archive) {
  write_list(kDigestOfAbc);
  std::filesystem::create_directory(dir_ + "/archives");
  expect_a_line(run("build-offline", "--list list archives"), "abc_1_all.deb is missing");
  write("archives/abc_1_all.deb", "abd");
  expect_a_line(run("build-offline", "--list list archives"), std::string("list has ") + kDigestOfAbc);
  expect_a_line(run("build-offline", "--list nowhere archives"), "nowhere");
  expect_a_line(run("build-offline", "nowhere"), "nowhere");
}

}  // namespace
}  // namespace megalith
