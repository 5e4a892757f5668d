// A model of another program's, trained on three meshes, saved, and resumed, by what libraries step and state offer.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "keeping_model.h"
#include "training.h"

namespace megalith {
namespace {

const KeptTypes kToyKeeps = {{"mean", DType::f32}};
const KeptTypes kAllTypes = {
    {"mean", DType::f32}, {"balance", DType::f32}, {"words", DType::bf16}, {"ids", DType::i32}, {"hidden", DType::f64}};

Outcome train_toy(const Setting& s, i64 from, i64 to, const std::string& dir) {
  return train(std::make_shared<ToyModel>(), kToyKeeps, s, from, to, dir);
}
Outcome train_keeping(const Setting& s, i64 from, i64 to, const std::string& dir) {
  return train(std::make_shared<KeepingModel>(), kAllTypes, s, from, to, dir);
}

template <class T>
std::vector<double> numbers(const Outcome& r, const char* name) {
  const std::vector<std::byte>& bytes = r.kept.at(name);
  const T* x = reinterpret_cast<const T*>(bytes.data());
  return {x, x + bytes.size() / sizeof(T)};
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double bound, const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], bound) << what << " " << i;
}

// Two micro-batches a step: on one rank, and on two stages.
const Setting kCut[] = {{"one, in two micro-batches", make_mesh({}), false, 2},
                        {"pp2", make_mesh({.pp = 2}), false, 2}};

const Setting kSettings[] = {{"one", make_mesh({})},
                             {"tp2", make_mesh({1, 1, 2, 1})},
                             {"dp2 with the distributed optimizer", make_mesh({2, 1, 1, 1}), true}};

class Library : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(dir_); }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  const std::string dir_ = testing::TempDir() + "megalith-library-" + std::to_string(getpid());
};

// Whole numbers and the start exactly, sums as near as orders of adding are.
void expect_kept_alike(const std::vector<Outcome>& results) {
  for (const Outcome& r : results) {
    EXPECT_EQ(r.kept.at("ids"), results[0].kept.at("ids"));
    expect_near(numbers<double>(r, "hidden"), numbers<double>(results[0], "hidden"), 1e-3, "hidden");
    expect_near(numbers<bf16>(r, "words"), numbers<bf16>(results[0], "words"), 1e-3, "words");
  }
  for (const double id : numbers<i32>(results[0], "ids")) EXPECT_GE(id, 7);
  // Steps of 0.01 up or down.
  const std::vector<double> balance = numbers<float>(results[0], "balance");
  for (const double x : balance) EXPECT_NEAR(std::remainder(x, 0.02), 0, 1e-6);
  EXPECT_GT(*std::ranges::max_element(balance), 0.015);
  for (const Outcome& r : results) EXPECT_EQ(r.kept.at("balance"), results[0].kept.at("balance"));
}

TEST_F(Library, a_model_from_outside_trains_alike_on_every_mesh) {
  std::vector<Outcome> results;
  for (const Setting& s : kSettings) results.push_back(train_toy(s, 0, 6, dir_ + "/" + s.name));
  const Outcome& one = results[0];
  EXPECT_NEAR(one.losses[0], std::log(double(ToyModel::kVocab)), 0.3);  // it knows nothing
  EXPECT_LT(one.losses[5], one.losses[0] - 0.1);
  for (size_t i = 1; i < results.size(); ++i)
    for (size_t k = 0; k < one.losses.size(); ++k) {
      EXPECT_NEAR(results[i].losses[k], one.losses[k], 1e-5) << kSettings[i].name << ", step " << k;
      EXPECT_NEAR(results[i].largest[k], one.largest[k], 1e-5) << kSettings[i].name << ", step " << k;
    }
  const std::vector<double> mean = numbers<float>(one, "mean");
  ASSERT_EQ(mean.size(), size_t(ToyModel::kHidden));
  EXPECT_GT(*std::ranges::max_element(mean), 1e-3);
  for (const Outcome& r : results) expect_near(numbers<float>(r, "mean"), mean, 1e-6, "mean");
}

TEST_F(Library, tensors_of_any_dtype_are_kept_alike_on_every_mesh) {
  std::vector<Outcome> results;
  for (const Setting& s : kSettings) results.push_back(train_keeping(s, 0, 6, dir_ + "/" + s.name));
  expect_kept_alike(results);
}

// In a pipeline the running mean may be read before it has moved; sums are the same.
TEST_F(Library, what_is_not_trained_is_kept_on_every_stage_of_a_pipeline) {
  std::vector<Outcome> results;
  for (const Setting& s : kCut) results.push_back(train_keeping(s, 0, 6, dir_ + "/" + s.name));
  for (size_t k = 0; k < results[0].losses.size(); ++k) EXPECT_NEAR(results[1].losses[k], results[0].losses[k], 1e-5);
  expect_kept_alike(results);
}

TEST_F(Library, a_resumed_run_has_the_same_bits_and_any_mesh_resumes) {
  std::vector<Setting> settings(std::begin(kSettings), std::end(kSettings));
  settings.push_back(kCut[1]);
  for (const Setting& s : settings) {
    const std::string whole = dir_ + "/whole " + s.name, parts = dir_ + "/parts " + s.name;
    const Outcome at_once = train_keeping(s, 0, 6, whole);
    train_keeping(s, 0, 3, parts);
    const Outcome rest = train_keeping(s, 3, 6, parts);
    EXPECT_EQ(rest.losses, std::vector<double>(at_once.losses.begin() + 3, at_once.losses.end())) << s.name;
    EXPECT_EQ(rest.kept, at_once.kept) << s.name;
    if (s.micro_batches > 1) continue;
    for (const Setting& other : kSettings) {
      train_keeping(s, 0, 3, dir_ + "/from");
      const Outcome there = train_keeping(other, 3, 6, dir_ + "/from");
      for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(there.losses[k], rest.losses[k], 1e-5) << s.name << " " << other.name;
    }
  }
}

}  // namespace
}  // namespace megalith
