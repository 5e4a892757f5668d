// Sessions that are ranks of one model, each on a thread of this program; and models that are built wrongly.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <megalith/graph.h>
#include <cmath>
#include <filesystem>
#include <functional>
#include <thread>

namespace {

using megalith::Config;
using megalith::ModelGraph;
using megalith::Rank;
using megalith::Session;

int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET, at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  const bool ok = bind(fd, reinterpret_cast<sockaddr*>(&at), size) == 0 &&
                  getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) == 0;
  close(fd);
  return ok ? ntohs(at.sin_port) : 0;
}

Config small() {
  Config c;
  c.set("device", "cpu").set("seq-length", 8).set("micro-batch-size", 2).set("global-batch-size", 4);
  c.set("train-iters", 20).set("vocab-size", 24).set("lr", "0.01").set("lr-decay-style", "constant");
  return c;
}
Config gpt() {
  Config c = small();
  return std::move(c.set("num-layers", 1).set("hidden-size", 16).set("num-attention-heads", 2));
}

void fill(mgl_batch& b) {
  for (int64_t i = 0; i < b.sequences * b.seq_length; ++i) {
    b.tokens[i] = i % b.seq_length ? b.labels[i - 1] : int32_t((b.first_sample + i / b.seq_length) % 24);
    b.labels[i] = (5 * b.tokens[i] + 1) % 24;
  }
}

// Calls f on two threads at once, each with its rank.
void on_two(const std::function<void(const Rank&)>& f) {
  const int port = free_port();
  std::thread other([&] { f({.rank = 1, .world_size = 2, .master_address = "127.0.0.1", .master_port = port}); });
  f({.rank = 0, .world_size = 2, .master_address = "127.0.0.1", .master_port = port});
  other.join();
}

struct Told {
  std::vector<double> losses;
  std::vector<float> weights;
};
const std::string kWeight = "decoder.layers.0.mlp.linear_fc1.weight";

std::string failure_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const megalith::Failed& e) {
    return e.what();
  }
  return "";
}

class CRanks : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(dir_); }
  const std::string dir_ = testing::TempDir() + "megalith-capi-ranks-" + std::to_string(getpid());
};

TEST_F(CRanks, two_ranks_train_as_one_does_and_one_goes_on_from_what_they_saved) {
  Session alone(gpt());
  alone.batches(fill);
  Told one;
  for (int i = 0; i < 4; ++i) one.losses.push_back(alone.step().loss);
  one.weights = alone.read(kWeight);
  const double later = alone.step().loss;
  for (const std::vector<const char*>& layout :
       {std::vector<const char*>{}, {"--tensor-model-parallel-size", "2"}, {"--use-distributed-optimizer"}}) {
    Told two[2];
    on_two([&](const Rank& rank) {
      Session s(gpt().parse(layout), {}, rank);
      s.batches(fill);
      Told& mine = two[rank.rank];
      for (int i = 0; i < 4; ++i) mine.losses.push_back(s.step().loss);
      mine.weights = s.read(kWeight);
      s.save(dir_);
    });
    EXPECT_EQ(two[0].losses, two[1].losses);
    EXPECT_EQ(two[0].weights, two[1].weights);
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(two[0].losses[i], one.losses[i], 1e-5);
    ASSERT_EQ(two[0].weights.size(), one.weights.size());
    for (size_t i = 0; i < one.weights.size(); ++i) EXPECT_NEAR(two[0].weights[i], one.weights[i], 1e-4) << i;
    Session after(gpt().set("load", dir_));
    after.batches(fill);
    EXPECT_EQ(after.iteration(), 4);
    EXPECT_EQ(after.read(kWeight), two[0].weights);
    EXPECT_NEAR(after.step().loss, later, 1e-4);
    std::filesystem::remove_all(dir_);
  }
}

TEST_F(CRanks, a_batch_that_fails_on_one_fails_the_step_on_all_and_they_go_on) {
  std::string told[2];
  double losses[2] = {0, 1};
  on_two([&](const Rank& rank) {
    Session s(gpt(), {}, rank);
    bool fails = rank.rank == 1;
    s.batches([&](mgl_batch& b) {
      fill(b);
      if (fails) b.tokens[0] = 24;
    });
    told[rank.rank] = failure_of([&] { s.step(); });
    fails = false;
    losses[rank.rank] = s.step().loss;
  });
  EXPECT_NE(told[1].find("token 24 at position 0"), std::string::npos) << told[1];
  EXPECT_NE(told[0].find("another rank failed"), std::string::npos) << told[0];
  EXPECT_EQ(losses[0], losses[1]);
}

TEST_F(CRanks, one_that_is_gone_is_an_error_of_the_other_whose_process_goes_on) {
  std::string told[2];
  on_two([&](const Rank& rank) {
    Session s(gpt().set("distributed-timeout-minutes", "0.05"), {}, rank);
    s.batches(fill);
    s.step();
    if (rank.rank == 1) return;
    for (std::string* said : {&told[0], &told[1]}) *said = failure_of([&] { s.step(); });
  });
  EXPECT_NE(told[0], "");
  EXPECT_NE(told[1], "");
}

TEST_F(CRanks, places_that_cannot_be_are_refused) {
  const auto told = [](const Rank& rank) { return failure_of([&] { Session(gpt(), {}, rank); }); };
  EXPECT_NE(told({.rank = 2, .world_size = 2}).find("rank 2 of 2"), std::string::npos);
  EXPECT_NE(told({.rank = 0, .world_size = 2}).find("master_address"), std::string::npos);
  EXPECT_NE(told({.rank = 0, .world_size = 2, .master_address = "127.0.0.1"}).find("master_port"), std::string::npos);
  const std::string alone = failure_of([] { Session(gpt().set("pipeline-model-parallel-size", 2)); });
  EXPECT_NE(alone.find("pipeline 2"), std::string::npos) << alone;
  const std::string own =
      failure_of([] { megalith::make_session(small().set("pipeline-model-parallel-size", 2), [](ModelGraph&) {}); });
  EXPECT_NE(own.find("ranks of the caller's own model are data- and tensor-parallel"), std::string::npos) << own;
}

// A program that was built when options ended before `rank` is alone.
TEST_F(CRanks, the_first_versions_options_still_do) {
  mgl_session_options o{};
  o.size = offsetof(mgl_session_options, rank);
  o.rank = 7, o.world_size = 9;  // behind the end
  mgl_session* s = nullptr;
  ASSERT_EQ(mgl_session_new(gpt().get(), &o, &s), MGL_OK) << mgl_last_error();
  EXPECT_EQ(mgl_session_free(s), MGL_OK);
}

std::string model_failure(const std::function<void(ModelGraph&)>& model) {
  return failure_of([&] { megalith::make_session(small(), model); });
}

TEST_F(CRanks, models_that_make_no_sense_are_refused) {
  using megalith::ModelGraph;
  const auto table = [](ModelGraph& g) { return g.weight("table", {24, 8}, {.kind = MGL_EMBEDDING}); };
  const std::pair<std::function<void(ModelGraph&)>, const char*> refused[] = {
      {[](ModelGraph&) {}, "no loss"},
      {[](ModelGraph& g) { g.data("token"); }, "'token'"},
      {[](ModelGraph& g) { g.weight("w", {}, {}); }, "0 dimensions"},
      {[](ModelGraph& g) {
         g.weight("w", {4, -1}, {});
       },
       "dimension of -1"},
      {[](ModelGraph& g) {
         g.weight("w", {4, 4}, {.split = 2});
       },
       "split 2"},
      {[](ModelGraph& g) { g.weight("optimizer.x", {4}, {}); }, "optimizer."},
      {[](ModelGraph& g) { g.embedding(3, 4); }, "value 3"},
      {[&](ModelGraph& g) { g.einsum("sb->", g.data("tokens"), table(g)); }, ""},
      {[&](ModelGraph& g) { g.activate(9, table(g)); }, "activation 9"},
      {[&](ModelGraph& g) { g.cross_entropy(g.embedding(g.data("tokens"), table(g))); }, "24"},
      {[](ModelGraph&) { throw megalith::Failed("by the caller"); }, "by the caller"}};
  for (const auto& [model, said] : refused) {
    const std::string told = model_failure(model);
    EXPECT_NE(told, "") << said;
    EXPECT_NE(told.find(said), std::string::npos) << told;
  }
  EXPECT_LT(mgl_graph_data(nullptr, "tokens"), 0);
  mgl_session* s = nullptr;
  EXPECT_EQ(mgl_session_new_model(small().get(), nullptr, nullptr, nullptr, &s), MGL_BAD_ARGUMENT);
  const std::string gpts = failure_of([] { megalith::make_session(gpt(), [](ModelGraph&) {}); });
  EXPECT_NE(gpts.find("--num-layers: the model is the caller's own"), std::string::npos) << gpts;
}

TEST_F(CRanks, a_model_of_the_callers_own_is_saved_and_goes_on_with_the_same_bits) {
  const auto model = [](ModelGraph& g) {
    const mgl_value x = g.embedding(g.data("tokens"), g.weight("table", {24, 8}, {.kind = MGL_EMBEDDING, .std = 0.3}));
    const mgl_value bias = g.weight("bias", {8}, {.kind = MGL_VECTOR, .std = 0});
    const mgl_value gain = g.weight("gain", {8}, {.kind = MGL_VECTOR, .mean = 1, .std = 0});
    const mgl_value y = g.rms_norm("sbh", g.add("sbh,h->sbh", x, bias), gain);
    g.cross_entropy(g.einsum("sbh,vh->sbv", y, g.weight("head", {24, 8}, {.kind = MGL_OUTPUT, .std = 0.3})));
  };
  std::vector<double> whole;
  {
    Session s = megalith::make_session(small(), model);
    s.batches(fill);
    for (int i = 0; i < 6; ++i) {
      if (i == 3) s.save(dir_);
      whole.push_back(s.step().loss);
    }
    EXPECT_NE(s.read("bias"), std::vector<float>(8, 0.0f));
  }
  EXPECT_LT(whole[5], whole[0] - 0.1);
  Session s = megalith::make_session(small().set("load", dir_), model);
  s.batches(fill);
  EXPECT_EQ(s.iteration(), 3);
  for (int i = 3; i < 6; ++i) EXPECT_EQ(s.step().loss, whole[size_t(i)]);
}

}  // namespace
