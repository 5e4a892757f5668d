// The examples against an installed library: found by CMake and by pkg-config, they train as the command does.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/embed/beside_command.h"
#include "tests/places.h"

namespace megalith {
namespace {

const std::string kFlags =
    "--device cpu --num-layers 1 --hidden-size 16 --num-attention-heads 2 --seq-length 8 --micro-batch-size 2 "
    "--global-batch-size 4 --train-iters 6 --vocab-size 24 --lr 0.01 --lr-decay-style cosine --lr-warmup-iters 2 "
    "--seed 5";
constexpr i64 kSamples = 24;

bool has(const std::string& program) { return std::system(("command -v " + program + " > /dev/null").c_str()) == 0; }

class Embed : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(prefix_);
    output_of(std::string(CMAKE) + " --install " + quoted(kBinaryDir) + " --prefix " + quoted(prefix_));
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  // The programs of examples/library.
  void build() const {
    output_of(std::string(CMAKE) + " -S " + quoted(std::string(kSourceDir) + "/examples/library") + " -B " +
              quoted(dir_ + "/build") + " -DCMAKE_PREFIX_PATH=" + quoted(prefix_) + " && " + CMAKE + " --build " +
              quoted(dir_ + "/build"));
  }

  // The losses that a program printed.
  static std::vector<double> losses_of(const std::string& text) {
    std::vector<double> out;
    std::istringstream lines(text);
    int iteration;
    double loss, gradient;
    while (lines >> iteration >> loss >> gradient) {
      EXPECT_EQ(iteration, int(out.size()) + 1);
      EXPECT_NE(gradient, 0);
      out.push_back(loss);
    }
    return out;
  }

  const std::string dir_ = testing::TempDir() + "megalith-embed-" + std::to_string(getpid());
  const std::string prefix_ = dir_ + "/in a place";
};

TEST_F(Embed, programs_of_an_installed_library_train_as_the_command_does) {
  const std::string source = std::string(kSourceDir) + "/examples/library", batches = dir_ + "/batches";
  write_command_batches(batches, kFlags, kSamples);
  output_of(std::string(COMMAND) + " pretrain-gpt " + kFlags + " --mock-data --eval-iters 0 --log-interval 1 --save " +
            quoted(dir_ + "/command") + " --save-interval 6 --metrics-file " + quoted(dir_ + "/metrics"));
  const std::vector<double> expected = losses_in(dir_ + "/metrics");
  ASSERT_EQ(expected.size(), 6u);

  build();
  // What each is called by.
  std::map<std::string, std::string> programs = {{"C", quoted(dir_ + "/build/train_c")},
                                                 {"C++", quoted(dir_ + "/build/train_cpp")}};
  if (has("pkg-config")) {
    const std::string pkg =
        "PKG_CONFIG_PATH=" + quoted(prefix_ + "/lib/pkgconfig") + " pkg-config --cflags --libs megalith";
    output_of("cd " + quoted(source) + " && eval cc -std=c11 -pedantic -Wall -Werror train.c -o " +
              quoted(dir_ + "/by_pkg") + " \"$(" + pkg + ")\"");
    programs["by pkg-config"] = quoted(dir_ + "/by_pkg");
  }
  // As one that was built with the first library: from its header.
  output_of("cc -std=c11 -I " + quoted(std::string(kSourceDir) + "/tests/embed/first") + " " +
            quoted(source + "/train.c") + " -o " + quoted(dir_ + "/first") + " -L " + quoted(prefix_ + "/lib") +
            " -lmegalith");
  programs["of the first header"] = quoted(dir_ + "/first");
  if (has("python3"))
    programs["Python"] = "PYTHONPATH=" + quoted(prefix_ + "/lib/python3/dist-packages") +
                         " PYTHONDONTWRITEBYTECODE=1 python3 " + quoted(source + "/train.py");
  for (const auto& [name, program] : programs) {
    const std::string saves = dir_ + "/saves of " + name;
    const std::string told = output_of("export LD_LIBRARY_PATH=" + quoted(prefix_ + "/lib") + "; " + program + " " +
                                       quoted(batches) + " " + quoted(saves) + " " + kFlags);
    EXPECT_EQ(losses_of(told), expected) << name << "\n" << told;
    expect_same_checkpoint(dir_ + "/command", saves, 6);
  }
}

// By a consumer of DLPack where Python has one: numpy or torch.
TEST(Views, OfTensorsAreMemoryOfTheSession) {
  if (!has("python3")) GTEST_SKIP() << "no python3";
  const std::string source = kSourceDir;
  const std::string told = output_of("export LD_LIBRARY_PATH=" + quoted(std::string(kBinaryDir) + "/lib") +
                                     " PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + quoted(source + "/python") +
                                     "; python3 " + quoted(source + "/tests/embed/views.py"));
  EXPECT_NE(told.find("plain\n"), std::string::npos) << told;
  if (told == "plain\n") GTEST_SKIP() << "no numpy with from_dlpack and no torch: only what needs neither was tried";
}

std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> out;
  std::istringstream in(text);
  for (double x; in >> x;) out.push_back(x);
  return out;
}

TEST_F(Embed, a_model_of_the_users_own_trains_alike_on_one_rank_and_on_two) {
  build();
  const std::string flags =
      " --device cpu --seq-length 8 --vocab-size 24 --micro-batch-size 2 --global-batch-size 4 --train-iters 6 --lr "
      "0.05 "
      "--lr-decay-style constant --distributed-timeout-minutes 1 ";
  const std::string program =
      "export LD_LIBRARY_PATH=" + quoted(prefix_ + "/lib") + "; P=" + quoted(dir_ + "/build/own_model_cpp") + "; ";
  const std::vector<double> one = numbers_of(output_of(program + "\"$P\" 0 1 0" + flags));
  ASSERT_EQ(one.size(), 6u + 12 * 8);
  EXPECT_NEAR(one[0], std::log(24.0), 0.3);  // it knows nothing
  EXPECT_LT(one[5], one[0] - 0.2);
  for (const std::string layout : {"", "--tensor-model-parallel-size 2"}) {
    const std::string tail = " 2 " + std::to_string(free_port()) + flags + layout;
    const std::string other = quoted(dir_ + "/other");
    const std::string both =
        output_of(program + "\"$P\" 1" + tail + " > " + other + " & \"$P\" 0" + tail + " && wait $! && cat " + other);
    const std::vector<double> two = numbers_of(both);
    ASSERT_EQ(two.size(), 2 * one.size()) << both;
    for (size_t i = 0; i < two.size(); ++i) EXPECT_NEAR(two[i], one[i % one.size()], 2e-5) << layout << " " << i;
    EXPECT_TRUE(std::equal(two.begin(), two.begin() + long(one.size()), two.begin() + long(one.size()))) << layout;
  }
}

TEST_F(Embed, installed_files_know_nothing_of_the_machine_that_built_them) {
  for (const std::string file : {"/bin/megalith", "/lib/libmegalith.so"}) {
    const std::string path = quoted(prefix_ + file);
    // Kernels of a native build have their lines for profilers, with the sources' names; packages' have none.
    if (!KERNELS_HAVE_LINES)
      EXPECT_EQ(output_of("strings " + path + " | grep -c -F -e " + quoted(kSourceDir) + " -e " + quoted(kBinaryDir) +
                          " || true"),
                "0\n")
          << file;
    EXPECT_EQ(output_of("readelf -d " + path + " | grep -E 'R(UN)?PATH' || true"), "") << file;
  }
  EXPECT_NE(output_of("readelf -d " + quoted(prefix_ + "/lib/libmegalith.so")).find("[libmegalith.so.0]"),
            std::string::npos);
  EXPECT_EQ(output_of("grep -rlF " + quoted(kSourceDir) + " " + quoted(prefix_ + "/lib/cmake") + " " +
                      quoted(prefix_ + "/lib/pkgconfig") + " || true"),
            "");
  EXPECT_NE(output_of(quoted(prefix_ + "/bin/megalith") + " --version").find("megalith"), std::string::npos);
}

}  // namespace
}  // namespace megalith
