#include "exec/cuda/products/gemm_choices.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/check.h"

namespace megalith::cuda {

namespace fs = std::filesystem;

class GemmChoicesFile : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / fmt::format("gemm-choices-{}-{}", info->name(), ::getpid());
    fs::create_directories(folder_);
    file_ = folder_ / "choices.json";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string text() const {
    std::ostringstream all;
    all << std::ifstream(file_).rdbuf();
    return all.str();
  }
  void put(const std::string& text) const { std::ofstream(file_) << text; }
  int files() const { return int(std::distance(fs::directory_iterator(folder_), {})); }

  fs::path folder_, file_;
};

static GemmChoice choice(u8 first, double ms) {
  std::vector<u8> bytes(64);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = u8(first + 37 * i);
  return {bytes, ms};
}

TEST_F(GemmChoicesFile, come_back) {
  GemmChoices one(file_, "gpu");
  EXPECT_EQ(one.find("1x2x3"), nullptr);
  one.add("1x2x3", choice(1, 0.25));
  one.add("4x5x6", choice(2, 1e-3));
  const GemmChoices two(file_, "gpu");
  EXPECT_TRUE(two.kept());
  ASSERT_TRUE(two.find("1x2x3") && two.find("4x5x6"));
  EXPECT_EQ(*two.find("1x2x3"), choice(1, 0.25));
  EXPECT_EQ(*two.find("4x5x6"), choice(2, 1e-3));
  EXPECT_EQ(two.find("7x8x9"), nullptr);
  EXPECT_EQ(files(), 1);
}

TEST_F(GemmChoicesFile, other_machines_choices_are_kept_but_not_used) {
  GemmChoices(file_, "gpu a").add("p", choice(1, 1));
  GemmChoices b(file_, "gpu b");
  EXPECT_EQ(b.find("p"), nullptr);
  b.add("p", choice(2, 2));
  EXPECT_EQ(*GemmChoices(file_, "gpu a").find("p"), choice(1, 1));
  EXPECT_EQ(*GemmChoices(file_, "gpu b").find("p"), choice(2, 2));
}

TEST_F(GemmChoicesFile, another_ranks_choices_are_all_there_are_and_are_not_written) {
  GemmChoices here(file_, "gpu"), there("", "gpu"), elsewhere("", "another gpu");
  here.add("p", choice(1, 1)), here.add("own", choice(5, 5));
  there.add("p", choice(2, 2)), there.add("q", choice(3, 3)), elsewhere.add("p", choice(4, 4));
  here.take(there.text());
  EXPECT_EQ(*here.find("p"), choice(2, 2));
  EXPECT_EQ(*here.find("q"), choice(3, 3));
  EXPECT_EQ(here.find("own"), nullptr);
  EXPECT_FALSE(here.kept());  // else it would measure what the other rank could not keep
  EXPECT_EQ(GemmChoices(file_, "gpu").find("q"), nullptr);
  EXPECT_THROW(here.take("{}"), Error);
  here.take(elsewhere.text());
  EXPECT_EQ(here.find("p"), nullptr);
}

TEST_F(GemmChoicesFile, the_first_of_processes_at_once_chooses_for_all) {
  GemmChoices one(file_, "gpu"), two(file_, "gpu");
  one.add("p", choice(1, 1));
  two.add("p", choice(2, 2));
  EXPECT_EQ(*two.find("p"), choice(1, 1));
  GemmChoices three(file_, "gpu");
  EXPECT_EQ(*three.find("p"), choice(1, 1));
  three.add("p", choice(3, 3));  // it knew the other, which did not run
  EXPECT_EQ(*three.find("p"), choice(3, 3));
  EXPECT_EQ(*GemmChoices(file_, "gpu").find("p"), choice(3, 3));
}

TEST_F(GemmChoicesFile, writers_at_once_keep_what_the_others_wrote) {
  GemmChoices one(file_, "gpu"), two(file_, "gpu");
  one.add("p", choice(1, 1));
  two.add("q", choice(2, 2));
  const GemmChoices both(file_, "gpu");
  EXPECT_TRUE(both.find("p") && both.find("q"));
}

TEST_F(GemmChoicesFile, processes_at_once_lose_nothing) {
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c) {
    const pid_t child = ::fork();
    if (child == 0) {
      GemmChoices mine(file_, "gpu");
      for (int i = 0; i < 10; ++i) mine.add(fmt::format("{} {}", c, i), choice(u8(c), i));
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (pid_t child : children) ::waitpid(child, nullptr, 0);
  testing::internal::CaptureStderr();
  const GemmChoices all(file_, "gpu");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  for (int c = 0; c < 4; ++c)
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(all.find(fmt::format("{} {}", c, i))) << c << " " << i;
  EXPECT_EQ(files(), 1);
}

TEST_F(GemmChoicesFile, damage_anywhere_counts_as_no_file_and_is_repaired) {
  GemmChoices(file_, "gpu").add("p", choice(1, 1));
  const std::string good = text();
  for (size_t i = 36; i < good.size() - 2; i += 3) {
    std::string bad = good;
    bad[i] = char(bad[i] ^ 1);
    put(bad);
    testing::internal::CaptureStderr();
    const GemmChoices got(file_, "gpu");
    EXPECT_NE(testing::internal::GetCapturedStderr().find("damaged"), std::string::npos) << i;
    EXPECT_EQ(got.find("p"), nullptr) << i;
  }
  for (size_t n = 1; n + 1 < good.size(); n += 5) {
    put(good.substr(0, n));
    testing::internal::CaptureStderr();
    EXPECT_EQ(GemmChoices(file_, "gpu").find("p"), nullptr) << n;
    EXPECT_NE(testing::internal::GetCapturedStderr().find("damaged"), std::string::npos) << n;
  }
  testing::internal::CaptureStderr();
  GemmChoices(file_, "gpu").add("q", choice(3, 3));
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(*GemmChoices(file_, "gpu").find("q"), choice(3, 3));
}

TEST_F(GemmChoicesFile, an_empty_file_is_no_file) {
  put("");
  testing::internal::CaptureStderr();
  GemmChoices(file_, "gpu").add("p", choice(1, 1));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(GemmChoices(file_, "gpu").find("p"));
}

TEST_F(GemmChoicesFile, anything_else_is_left_alone) {
  for (const std::string other : {"{\"hidden_size\": 4096}", "not even JSON", "[[[["}) {
    put(other);
    testing::internal::CaptureStderr();
    GemmChoices choices(file_, "gpu");
    choices.add("p", choice(1, 1));
    EXPECT_NE(testing::internal::GetCapturedStderr().find("stays as it is"), std::string::npos) << other;
    EXPECT_EQ(*choices.find("p"), choice(1, 1));
    EXPECT_EQ(text(), other);
  }
}

TEST_F(GemmChoicesFile, a_folder_in_its_place) {
  testing::internal::CaptureStderr();
  GemmChoices choices(folder_, "gpu");
  choices.add("p", choice(1, 1));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("not a file of product algorithms"), std::string::npos);
  EXPECT_TRUE(choices.find("p"));
}

TEST_F(GemmChoicesFile, what_cannot_be_written_warns_once) {
  put("");
  testing::internal::CaptureStderr();
  GemmChoices choices(file_ / "below" / "a" / "file", "gpu");
  EXPECT_FALSE(choices.kept());
  choices.add("p", choice(1, 1));
  choices.add("q", choice(2, 2));
  const std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_NE(warnings.find("can't keep"), std::string::npos);
  EXPECT_EQ(warnings.find("can't keep"), warnings.rfind("can't keep"));
  EXPECT_TRUE(choices.find("p") && choices.find("q"));
}

TEST_F(GemmChoicesFile, folders_above_it_are_made) {
  GemmChoices(folder_ / "a" / "b" / "c.json", "gpu").add("p", choice(1, 1));
  EXPECT_TRUE(GemmChoices(folder_ / "a" / "b" / "c.json", "gpu").find("p"));
}

TEST_F(GemmChoicesFile, without_a_name_nothing_is_kept) {
  GemmChoices choices("", "gpu");
  EXPECT_FALSE(choices.kept());
  choices.add("p", choice(1, 1));
  EXPECT_TRUE(choices.find("p"));
  EXPECT_EQ(GemmChoices("", "gpu").find("p"), nullptr);
}

}  // namespace megalith::cuda
