// Packages of what is built: Debian's, and a wheel.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tests/places.h"

namespace megalith {
namespace {

std::string in_quotes(const std::string& path) { return "'" + path + "'"; }

// What it prints; a failure shows all of it.
std::string said_by(const std::string& command) {
  std::string out;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  for (char buffer[4096]; const size_t n = std::fread(buffer, 1, sizeof buffer, pipe);) out.append(buffer, n);
  EXPECT_EQ(pclose(pipe), 0) << command << "\n" << out;
  return out;
}

bool works(const std::string& command) { return std::system((command + " > /dev/null 2>&1").c_str()) == 0; }

class Package : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(dir_); }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  // The packages in a root without a compiler, if scripts/try-packages has made one: a test depends on no network.
  void install_in_a_bare_debian() const {
    const std::string script = in_quotes(std::string(kSourceDir) + "/scripts/try-packages");
    constexpr int kNotHere = 77;
    const int status = WEXITSTATUS(
        std::system((script + " --offline " + in_quotes(dir_) + " > " + in_quotes(dir_ + "/tried") + " 2>&1").c_str()));
    const std::string said = said_by("cat " + in_quotes(dir_ + "/tried"));
    if (status == kNotHere) GTEST_SKIP() << said;
    EXPECT_EQ(status, 0) << said;
    EXPECT_NE(said.find("packages installed and trained in"), std::string::npos) << said;
  }
  const std::string dir_ = testing::TempDir() + "megalith-package-" + std::to_string(getpid());
};

TEST_F(Package, debian_packages_have_their_files_and_say_what_they_need) {
  if (!works("command -v dpkg-shlibdeps") || !works("command -v cpack")) GTEST_SKIP() << "no dpkg-dev, or no cpack";
  said_by("cd " + in_quotes(kBinaryDir) + " && cpack -G DEB -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip -B " +
          in_quotes(dir_));
  for (const std::string package : {"megalith", "libmegalith0", "libmegalith-dev", "python3-megalith"}) {
    const std::string file = dir_ + "/" + package + "_*.deb", root = in_quotes(dir_ + "/unpacked");
    said_by("dpkg-deb -x " + file + " " + root);
    EXPECT_EQ(said_by("dpkg-deb -f " + file + " Package"), package + "\n");
    if (package == "megalith" || package == "libmegalith0")
      EXPECT_NE(said_by("dpkg-deb -f " + file + " Depends").find("libdnnl2"), std::string::npos) << package;
  }
  for (const std::string file :
       {"bin/megalith", "lib/libmegalith.so.0", "lib/libmegalith.so", "include/megalith/megalith.h",
        "include/megalith/graph.h", "lib/pkgconfig/megalith.pc", "lib/cmake/megalith/megalithConfig.cmake",
        "lib/python3/dist-packages/megalith/__init__.py", "share/man/man1/megalith.1.gz",
        "share/bash-completion/completions/megalith", "share/zsh/vendor-completions/_megalith",
        "share/doc/libmegalith0/copyright", "share/megalith/recipes/llama3-8b.yaml"})
    EXPECT_TRUE(std::filesystem::exists(dir_ + "/unpacked/usr/" + file)) << file;
  EXPECT_NE(said_by(in_quotes(dir_ + "/unpacked/usr/bin/megalith") + " --version").find("megalith"), std::string::npos);
  if (works("command -v lintian")) said_by("lintian --fail-on error " + in_quotes(dir_) + "/*.deb");
  install_in_a_bare_debian();
}

TEST_F(Package, a_wheel_has_the_module_the_library_and_the_command) {
  if (!works("python3 -m pip --version") || !works("command -v strip")) GTEST_SKIP() << "no pip of python3";
  said_by("PATH=/usr/bin:/bin; python3 " + in_quotes(std::string(kSourceDir) + "/scripts/wheel") + " " +
          in_quotes(kBinaryDir) + " " + in_quotes(dir_ + "/wheels"));
  said_by("python3 -m pip install --quiet --no-index --no-deps --disable-pip-version-check --target " +
          in_quotes(dir_ + "/site") + " " + in_quotes(dir_) + "/wheels/*.whl");
  const std::string python = "PYTHONPATH=" + in_quotes(dir_ + "/site") + " PYTHONDONTWRITEBYTECODE=1 python3 -c ";
  EXPECT_EQ(said_by(python + "'import megalith; print(megalith.version())'"), MEGALITH_VERSION "\n");
  const std::string version = said_by(
      python + "'import sys, megalith.command; sys.argv = [\"megalith\", \"--version\"]; megalith.command.main()'");
  EXPECT_TRUE(version.starts_with("megalith " MEGALITH_VERSION)) << version;
  EXPECT_TRUE(std::filesystem::exists(dir_ + "/site/bin/megalith"));
}

// With auditwheel, which would copy MPI's library beside ours. Here a program of that name does nothing.
TEST_F(Package, a_wheel_that_would_copy_mpi_is_refused) {
  const std::string library = in_quotes(std::string(kBinaryDir) + "/lib/libmegalith.so.0");
  if (!works("command -v python3") || !works("command -v strip")) GTEST_SKIP() << "no python3, or no strip";
  if (!works("readelf -d " + library + " | grep -F '[libmpi'")) GTEST_SKIP() << "this build has no MPI";
  said_by("mkdir " + in_quotes(dir_ + "/bin") + " && ln -s /bin/true " + in_quotes(dir_ + "/bin/auditwheel"));
  const std::string said = said_by("! PATH=" + in_quotes(dir_ + "/bin") + ":/usr/bin:/bin python3 " +
                                   in_quotes(std::string(kSourceDir) + "/scripts/wheel") + " " + in_quotes(kBinaryDir) +
                                   " " + in_quotes(dir_ + "/wheels"));
  EXPECT_NE(said.find("configure with -DMEGALITH_MPI=OFF"), std::string::npos) << said;
}

}  // namespace
}  // namespace megalith
