// Tests of the endpoint with HTTP requests like a scraper's. Skipped if the build has no prometheus-cpp.
#include "observe/endpoint.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>
#include <list>

#include "base/check.h"
#include "base/clock.h"
#include "http.h"
#include "tests/train/options_helpers.h"

namespace megalith {
namespace {

// An open endpoint, or nullptr if this build has none.
std::unique_ptr<Endpoint> opened(const Labels& labels = {}, int port = 0) {
  try {
    return listen_at({"127.0.0.1", port, labels});
  } catch (const Error& e) {
    if (std::string(e.what()).find("built without prometheus-cpp") == std::string::npos) throw;
    return nullptr;
  }
}

class EndpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    endpoint_ = opened({{"job_name", "a"}, {"run_id", "7"}});
    if (!endpoint_) GTEST_SKIP() << "this build has no prometheus-cpp";
  }
  bool tells(const std::string& line) {
    const std::string all = http_get(endpoint_->port(), "/metrics");
    return all.find("\n" + line + "\n") != std::string::npos;
  }
  std::unique_ptr<Endpoint> endpoint_;
};

TEST_F(EndpointTest, TellsWhatIsSetByBothNames) {
  endpoint_->set("megatron:grad_norm", 0.5);
  endpoint_->set("megatron:loss", std::numeric_limits<double>::quiet_NaN());
  endpoint_->add("megatron:tokens_total", 4), endpoint_->add("megatron:tokens_total", 3);
  const std::string all = http_get(endpoint_->port(), "/metrics");
  EXPECT_TRUE(all.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4")) << all;
  for (const char* line :
       {"megatron:grad_norm{job_name=\"a\",run_id=\"7\"} 0.5", "megatron_grad_norm{job_name=\"a\",run_id=\"7\"} 0.5",
        "# TYPE megatron:grad_norm gauge", "megatron:loss{job_name=\"a\",run_id=\"7\"} Nan",
        "megatron:tokens_total{job_name=\"a\",run_id=\"7\"} 7", "# TYPE megatron_tokens_total counter"})
    EXPECT_NE(all.find("\n" + std::string(line) + "\n"), std::string::npos) << line << "\n" << all;
  EXPECT_EQ(all.find("learning_rate"), std::string::npos);  // nothing has set this series
}

TEST_F(EndpointTest, HasLabelsAndForgetsThem) {
  for (const char* rank : {"0", "5"}) endpoint_->set("megalith_rank_own_seconds", 2, {{"rank", rank}});
  endpoint_->set("megalith_iteration", 3);
  EXPECT_TRUE(tells("megalith_rank_own_seconds{job_name=\"a\",rank=\"5\",run_id=\"7\"} 2"));
  endpoint_->clear("megalith_rank_own_seconds");
  EXPECT_EQ(http_get(endpoint_->port(), "/metrics").find("rank=\"5\""), std::string::npos);
  EXPECT_TRUE(tells("megalith_iteration{job_name=\"a\",run_id=\"7\"} 3"));
  endpoint_->set("megalith_rank_own_seconds", 4, {{"rank", "5"}});
  EXPECT_TRUE(tells("megalith_rank_own_seconds{job_name=\"a\",rank=\"5\",run_id=\"7\"} 4"));
}

// With --prometheus-all-ranks all series have the endpoint's rank, but for those of other ranks.
TEST_F(EndpointTest, TellsOfOtherRanks) {
  const auto endpoint = opened({{"rank", "0"}});
  for (const char* rank : {"3", "5"}) endpoint->set("megalith_rank_own_seconds", 2, {{"rank", rank}});
  endpoint->set("megalith_iteration", 3);
  const std::string scrape = http_get(endpoint->port(), "/metrics");
  EXPECT_NE(scrape.find("megalith_rank_own_seconds{rank=\"3\"} 2"), std::string::npos) << scrape;
  EXPECT_NE(scrape.find("megalith_rank_own_seconds{rank=\"5\"} 2"), std::string::npos);
  EXPECT_NE(scrape.find("megalith_iteration{rank=\"0\"} 3"), std::string::npos);
}

// Prometheus refuses other texts.
TEST_F(EndpointTest, HasLabelsInUtf8) {
  const auto endpoint = opened({{"job_name", "a\xff\"\n"}});
  endpoint->set("megalith_iteration", 3);
  EXPECT_NE(http_get(endpoint->port(), "/metrics").find("{job_name=\"a\xef\xbf\xbd\\\"\\n\"} 3"), std::string::npos);
}

TEST_F(EndpointTest, RefusesAddressesOfOtherHosts) {
  for (const char* address : {"203.0.113.7", "no such host", "", "127.0.0.1:80", "::1"}) {
    try {
      listen_at({address, 0, {}});
      FAIL() << address;
    } catch (const Error& e) {
      EXPECT_EQ(std::string(e.what()),
                fmt::format("--prometheus-address {}: no IPv4 address of this host: give 0.0.0.0 for all of them, or "
                            "127.0.0.1 for programs on this host",
                            address));
    }
  }
}

TEST_F(EndpointTest, CountsReductionsInBuckets) {
  for (const double seconds : {0.0004, 0.2, 0.25, 20.0}) endpoint_->observe("nccl:allreduce_seconds", seconds);
  const std::string labels = "job_name=\"a\",run_id=\"7\"";
  for (const auto& [end, count] : {std::pair("0.0005", 1), {"0.15", 1}, {"0.2", 2}, {"0.3", 3}, {"10", 3}, {"+Inf", 4}})
    EXPECT_TRUE(tells(fmt::format("nccl:allreduce_seconds_bucket{{{},le=\"{}\"}} {}", labels, end, count))) << end;
  EXPECT_TRUE(tells("nccl:allreduce_seconds_count{" + labels + "} 4"));
}

TEST_F(EndpointTest, SaysWhetherTheRunIsWell) {
  const auto begins = [&] { return http_get(endpoint_->port(), "/healthz").substr(0, 12); };
  EXPECT_EQ(begins(), "HTTP/1.1 503");
  endpoint_->healthy_until(steady_seconds() + 1e6);
  EXPECT_EQ(begins(), "HTTP/1.1 200");
  endpoint_->healthy_until(steady_seconds() - 1);
  EXPECT_EQ(begins(), "HTTP/1.1 503");
  EXPECT_EQ(http_get(endpoint_->port(), "/other").substr(0, 12), "HTTP/1.1 404");
}

// Clients that send nothing, or never finish their request, must not block others. They are disconnected after some
// time. So 200 of them delay a scrape by less than Prometheus waits, which is 10 seconds.
TEST_F(EndpointTest, AnswersBesideSilentClients) {
  endpoint_->set("megalith_iteration", 3);
  std::list<SlowReader> silent;
  for (const auto& [clients, seconds] : {std::pair(40u, 3.0), {200u, 10.0}}) {
    while (silent.size() < clients) silent.emplace_back(endpoint_->port(), silent.size() % 2 ? "GET /metr" : "");
    const double began = steady_seconds();
    EXPECT_TRUE(tells("megalith_iteration{job_name=\"a\",run_id=\"7\"} 3"));
    EXPECT_LT(steady_seconds() - began, seconds) << clients;
  }
}

// Its end must not delay the end of a run by the 2 seconds that the server's thread may sleep. The least of three times
// does not depend on the load of the machine.
TEST_F(EndpointTest, EndsAtOnce) {
  double least = 1e300;
  for (int i = 0; i < 3; ++i) {
    http_get(endpoint_->port(), "/healthz");  // the thread has begun
    const double began = steady_seconds();
    endpoint_.reset();
    least = std::min(least, steady_seconds() - began);
    endpoint_ = opened();
  }
  EXPECT_LT(least, 1);
}

TEST_F(EndpointTest, NamesWhoHasThePort) {
  const TakenPort taken;
  EXPECT_EQ(listener_of(taken.port()), getpid());
  try {
    opened({}, taken.port());
    FAIL() << "it listens on a port that is taken";
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()),
              fmt::format("--prometheus-port {}: in use (pid {}): take another, or 0", taken.port(), getpid()));
  }
}

TEST(NameOfRun, IsTheFlagOrTheDirectory) {
  EXPECT_EQ(
      name_of_run(options_of(std::string(kSmallRun) + "--vocab-size 101 --run-name a --save /x/b --save-interval 2")),
      "a");
  if (std::getenv("SLURM_JOB_NAME")) GTEST_SKIP() << "SLURM_JOB_NAME is set";
  EXPECT_EQ(name_of_run(options_of(std::string(kSmallRun) + "--vocab-size 101 --save /x/b/ --save-interval 2")), "b");
  EXPECT_EQ(name_of_run(options_of(std::string(kSmallRun) + "--vocab-size 101")), "megalith");
}

TEST(OpenEndpoint, IsOfRankZeroUnlessAskedOtherwise) {
  const std::string flags = std::string(kSmallRun) + "--vocab-size 101 --prometheus-address 127.0.0.1 ";
  EXPECT_EQ(open_endpoint(options_of(flags), {}), nullptr);
  EXPECT_EQ(open_endpoint(options_of(flags + "--prometheus-port 0"), {.rank = 1, .size = 2}), nullptr);
  if (!opened()) GTEST_SKIP() << "this build has no prometheus-cpp";
  const auto endpoint =
      open_endpoint(options_of(flags + "--prometheus-port 0 --prometheus-all-ranks --prometheus-labels team=a"),
                    {.rank = 1, .size = 2});
  ASSERT_NE(endpoint, nullptr);
  endpoint->set("megalith_iteration", 1);
  const std::string all = http_get(endpoint->port(), "/metrics");
  EXPECT_NE(all.find("rank=\"1\""), std::string::npos) << all;
  EXPECT_NE(all.find("team=\"a\""), std::string::npos) << all;
}

}  // namespace
}  // namespace megalith
