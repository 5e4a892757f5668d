// Sessions by the C++ header over the C interface: what a step does, what is saved, and what a process keeps of itself.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <megalith/megalith.hpp>
#include <optional>

namespace {

using megalith::Config;
using megalith::Session;

Config tiny(const char* optimizer = "adam") {
  Config c;
  c.set("device", "cpu").set("num-layers", 1).set("hidden-size", 16).set("num-attention-heads", 2);
  c.set("seq-length", 8).set("micro-batch-size", 2).set("global-batch-size", 4).set("train-iters", 20);
  c.set("vocab-size", 24).set("lr", "0.01").set("lr-decay-style", "constant").set("optimizer", optimizer);
  c.set("clip-grad", 0).set("weight-decay", 0);
  return c;
}

// Sample n: each token is the one before, times 5, plus 1. The last label of each sequence does not count.
void fill_batch(mgl_batch& b) {
  for (int64_t s = 0; s < b.sequences; ++s) {
    int32_t id = int32_t((b.first_sample + s) % 24);
    for (int64_t t = 0; t < b.seq_length; ++t) {
      b.tokens[s * b.seq_length + t] = id;
      b.labels[s * b.seq_length + t] = id = (5 * id + 1) % 24;
    }
    b.loss_mask[(s + 1) * b.seq_length - 1] = 0;
  }
}

std::vector<double> losses(Session& s, int64_t steps) {
  std::vector<double> out;
  for (int64_t i = 0; i < steps; ++i) out.push_back(s.step().loss);
  return out;
}

class CSession : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(dir_); }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  const std::string dir_ = testing::TempDir() + "megalith-capi-" + std::to_string(getpid());
};

TEST_F(CSession, a_step_moves_a_weight_by_the_gradient_that_is_read) {
  Session s(tiny("sgd").set("sgd-momentum", 0));
  s.batches(fill_batch);
  for (const std::string name : {"decoder.final_layernorm.weight", "embedding.word_embeddings.weight"}) {
    const std::vector<float> before = s.read(name);
    const mgl_step_result r = s.step();
    const std::vector<float> after = s.read(name), gradient = s.gradient(name);
    EXPECT_EQ(r.counted, 1);
    double most = 0;
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_NEAR(after[i], before[i] - 0.01 * gradient[i], 1e-6) << name << " " << i;
      most = std::max(most, std::abs(double(gradient[i])));
    }
    EXPECT_GT(most, 1e-3) << name;
  }
}

TEST_F(CSession, training_learns_and_two_sessions_of_one_process_are_alike) {
  Session a(tiny()), b(tiny());
  a.batches(fill_batch), b.batches(fill_batch);
  std::vector<double> of_a, of_b;
  for (int i = 0; i < 12; ++i) of_a.push_back(a.step().loss), of_b.push_back(b.step().loss);
  EXPECT_EQ(of_a, of_b);
  EXPECT_NEAR(of_a[0], std::log(24.0), 0.5);
  EXPECT_LT(of_a.back(), of_a.front() - 0.1);
  const double evaluated = a.evaluate(fill_batch, 2);
  EXPECT_EQ(evaluated, a.evaluate(fill_batch, 2));
  EXPECT_EQ(a.iteration(), 12);
  EXPECT_LT(evaluated, of_a.front() - 0.1);
}

TEST_F(CSession, a_saved_session_goes_on_with_the_same_bits) {
  std::vector<double> whole;
  {
    Session s(tiny());
    s.batches(fill_batch);
    whole = losses(s, 6);
  }
  Session first(tiny());
  first.batches(fill_batch);
  losses(first, 3);
  first.save(dir_ + "/here");
  const std::vector<double> rest(whole.begin() + 3, whole.end());
  Session by_flag(tiny().set("load", dir_ + "/here"));
  by_flag.batches(fill_batch);
  EXPECT_EQ(by_flag.iteration(), 3);
  EXPECT_EQ(losses(by_flag, 3), rest);
  by_flag.load(dir_ + "/here");
  EXPECT_EQ(by_flag.iteration(), 3);
  EXPECT_EQ(losses(by_flag, 3), rest);
  EXPECT_EQ(losses(first, 3), rest);
  EXPECT_THROW(first.load(dir_ + "/nowhere"), megalith::Failed);
}

TEST_F(CSession, a_batch_that_fails_changes_nothing) {
  Session s(tiny()), other(tiny());
  other.batches(fill_batch);
  int calls = 0;
  std::optional<int> fails;
  s.batches([&](mgl_batch& b) {
    fill_batch(b);
    if (fails && calls++ == 1) throw std::string("no more");
    if (!fails && calls > 0) b.tokens[3] = 24;
  });
  fails = 1;
  EXPECT_THROW(s.step(), std::string);
  fails.reset();
  try {
    s.step();
    FAIL() << "a token outside of the vocabulary was taken";
  } catch (const megalith::Failed& e) {
    EXPECT_NE(std::string(e.what()).find("token 24 at position 3 of sequence 0"), std::string::npos) << e.what();
  }
  calls = 0;
  EXPECT_EQ(losses(s, 3), losses(other, 3));
}

TEST_F(CSession, a_weight_that_is_written_is_read_and_used) {
  Session s(tiny());
  s.batches(fill_batch);
  const std::string name = "decoder.final_layernorm.weight";
  const std::vector<float> zeros(16, 0.0f);
  s.write(name, zeros);
  EXPECT_EQ(s.read(name), zeros);
  EXPECT_NEAR(s.step().loss, std::log(24.0), 1e-5);  // logits of zeros
  bool has_moment = false;
  for (int64_t i = 0; i < s.tensor_count(); ++i) has_moment |= s.tensor(i).name == "optimizer.exp_avg." + name;
  EXPECT_TRUE(has_moment);
  EXPECT_EQ(s.tensor(name).shape[0], 16);
}

TEST_F(CSession, a_view_is_the_memory_that_steps_change) {
  Session s(tiny());
  s.batches(fill_batch);
  const std::string name = "decoder.final_layernorm.weight";
  EXPECT_THROW(s.view(name, MGL_GRADIENT_SUM), megalith::Failed);  // no step yet
  const mgl_tensor_view view = s.view(name);
  ASSERT_EQ(view.ndim, 1);
  EXPECT_EQ(view.shape[0], 16);
  EXPECT_EQ(view.type, MGL_F32);
  EXPECT_EQ(view.is_writable, 1);
  float* weights = static_cast<float*>(view.data);
  const std::vector<float> before(weights, weights + 16);
  EXPECT_EQ(before, s.read(name));
  const mgl_step_result r = s.step();
  EXPECT_EQ(r.tokens, 4 * 7);  // the last of each sequence does not count
  EXPECT_GT(r.seconds, 0);
  EXPECT_EQ(std::vector<float>(weights, weights + 16), s.read(name));
  EXPECT_NE(s.read(name), before);
  const float* sums = static_cast<const float*>(s.view(name, MGL_GRADIENT_SUM).data);
  const std::vector<float> means = s.gradient(name);
  for (size_t i = 0; i < 16; ++i) EXPECT_NEAR(sums[i] / r.tokens, means[i], 1e-7);
  Session other(tiny());
  other.batches(fill_batch);
  std::fill_n(static_cast<float*>(other.view(name).data), 16, 0.0f);
  EXPECT_NEAR(other.step().loss, std::log(24.0), 1e-5);  // logits of zeros
  EXPECT_THROW(s.view("nothing"), megalith::Failed);
  EXPECT_THROW(s.view(name, MGL_GRADIENT), megalith::Failed);
  Session half(tiny().set("bf16"));
  half.batches(fill_batch);
  half.step();
  try {
    EXPECT_EQ(half.view(name).is_writable, 0);
  } catch (const megalith::Failed& e) {
    EXPECT_NE(std::string(e.what()).find("precision"), std::string::npos) << e.what();
  }
}

TEST_F(CSession, flags_of_the_commands_loop_and_data_are_refused_by_name) {
  const std::array<const char*, 3> refused[] = {{"save", "x", "--save"},
                                                {"tensorboard-dir", "x", "--tensorboard-dir"},
                                                {"data-path", "x", "--data-path"},
                                                {"exit-interval", "3", "--exit-interval"},
                                                {"prometheus-port", "0", "--prometheus-port"},
                                                {"hidden-sise", "3", "--hidden-sise"},
                                                {"tensor-model-parallel-size", "2", "tensor 2"}};
  for (const auto& [name, value, said] : refused) {
    try {
      Session s(tiny().set(name, value));
      FAIL() << name << " was taken";
    } catch (const megalith::Failed& e) {
      EXPECT_NE(std::string(e.what()).find(said), std::string::npos) << e.what();
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    }
  }
}

// Handlers of all signals, as text.
std::string handlers() {
  std::string out;
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) == 0)
      out += std::to_string(reinterpret_cast<uintptr_t>(now.sa_handler)) + " " + std::to_string(now.sa_flags) + "\n";
  }
  return out;
}

std::string environment() {
  std::string out;
  for (char** e = environ; *e; ++e) out += std::string(*e) + "\n";
  return out;
}

TEST_F(CSession, the_process_stays_as_it_was) {
  const std::string handlers_before = handlers(), environment_before = environment();
  std::vector<std::string> said;
  testing::internal::CaptureStdout(), testing::internal::CaptureStderr();
  {
    Session told(tiny(), [&](int, const char*line) { said.push_back(line); }), silent(tiny());
    told.batches(fill_batch), silent.batches(fill_batch);
    losses(told, 2), losses(silent, 2);
    told.save(dir_ + "/told");
    silent.load(dir_ + "/told");
    EXPECT_THROW(Session(tiny().set("load", dir_ + "/none").set("exit-on-missing-checkpoint")), megalith::Failed);
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(handlers(), handlers_before);
  EXPECT_EQ(environment(), environment_before);
  EXPECT_FALSE(said.empty());
}

long resident_pages() {
  long all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident;
}

TEST_F(CSession, a_hundred_sessions_leave_nothing_behind) {
  if (*SANITIZED) GTEST_SKIP() << "sanitizers keep what was freed";
  const auto one = [] {
    Session s(tiny());
    s.batches(fill_batch);
    s.step();
  };
  for (int i = 0; i < 20; ++i) one();
  const long before = resident_pages();
  for (int i = 0; i < 100; ++i) one();
  EXPECT_LT(resident_pages() - before, 2 << 20 >> 10);  // 8 MiB of 4 KiB pages
}

}  // namespace
