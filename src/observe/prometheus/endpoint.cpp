// The endpoint with prometheus-cpp's registry and text format, and civetweb's server.
#include "observe/endpoint.h"

#include <civetweb.h>
#include <netdb.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "base/check.h"
#include "base/clock.h"
#include "base/valid_utf8.h"

namespace megalith {

namespace {

using PrometheusLabels = prometheus::Labels;

// A client occupies a thread until its request is complete. A silent client is disconnected after the time limit, in
// which a lost packet is sent again. So 48 silent clients delay a scrape by no more than that. A thread costs 90 KiB.
constexpr const char *kThreads = "48", *kRequestTimeoutMs = "1000";

// civetweb does not say why it cannot listen.
bool is_of_this_host(const std::string& address) {
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE, hints.ai_family = AF_INET, hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (address.empty() || getaddrinfo(address.c_str(), "0", &hints, &found) != 0) return false;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool binds = fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0;
  if (fd >= 0) close(fd);
  freeaddrinfo(found);
  return binds;
}

class ServedEndpoint final : public Endpoint {
 public:
  explicit ServedEndpoint(const EndpointPlace& place) : address_(place.address) {
    // Prometheus refuses a whole scrape if one label is not UTF-8.
    for (const auto& [name, value] : place.labels) labels_[name] = valid_utf8(value);
    const std::string ports = fmt::format("{}:{}", place.address, place.port);
    const char* options[] = {"listening_ports",    ports.c_str(),     "num_threads", kThreads,
                             "request_timeout_ms", kRequestTimeoutMs, nullptr};
    mg_callbacks callbacks{};
    callbacks.log_message = [](const mg_connection*, const char*) { return 1; };  // says nothing
    mg_init_data init{&callbacks, nullptr, options};
    mg_init_library(0);
    server_ = mg_start2(&init, nullptr);
    if (!server_) mg_exit_library(), refuse(place);
    mg_set_request_handler(server_, "/metrics$", by<&ServedEndpoint::metrics>, this);
    mg_set_request_handler(server_, "/healthz$", by<&ServedEndpoint::health>, this);
    mg_server_port bound[2] = {};
    if (mg_get_server_ports(server_, 2, bound) > 0) port_ = bound[0].port;
  }
  ~ServedEndpoint() override {
    stop();
    mg_exit_library();
  }
  ServedEndpoint(const ServedEndpoint&) = delete;

  int port() const override { return port_; }
  void set(std::string_view name, double value, const Labels& labels) override {
    for (prometheus::Gauge* gauge : found(gauges_, name, labels)) gauge->Set(value);
  }
  void add(std::string_view name, double more, const Labels& labels) override {
    for (prometheus::Counter* counter : found(counters_, name, labels)) counter->Increment(more);
  }
  void observe(std::string_view name, double value) override {
    for (prometheus::Histogram* histogram : found(histograms_, name, {})) histogram->Observe(value);
  }
  void clear(std::string_view name) override {
    const std::lock_guard lock(mutex_);
    const auto first = gauges_.series.lower_bound({std::string(name), {}});
    for (auto it = first; it != gauges_.series.end() && it->first.first == name; it = gauges_.series.erase(it))
      for (size_t i = 0; i < it->second.size(); ++i) gauges_.families.at(it->first.first)[i]->Remove(it->second[i]);
  }
  void healthy_until(double moment) override { healthy_until_ = moment; }

 private:
  // One family for each name, and another one if the series has a second name.
  template <class T>
  struct Kept {
    std::map<std::string, std::vector<prometheus::Family<T>*>> families;
    std::map<std::pair<std::string, Labels>, std::vector<T*>> series;
  };

  // The server's listening thread checks every 2 seconds whether it must end, and whenever a client connects. So this
  // function connects until it has ended.
  void stop() {
    std::atomic<bool> has_stopped = false;
    std::thread waker([&] {
      for (; !has_stopped; std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
        char error[128];
        if (mg_connection* self = mg_connect_client(address_.c_str(), port_, 0, error, sizeof error))
          mg_close_connection(self);
      }
    });
    mg_stop(server_);
    has_stopped = true;
    waker.join();
  }

  [[noreturn]] static void refuse(const EndpointPlace& place) {
    const i64 pid = place.port > 0 ? listener_of(place.port) : 0;
    check(pid == 0, "--prometheus-port {}: in use (pid {}): take another, or 0", place.port, pid);
    check(is_of_this_host(place.address),
          "--prometheus-address {}: no IPv4 address of this host: give 0.0.0.0 for all of them, or 127.0.0.1 for "
          "programs on this host",
          place.address);
    fail("--prometheus-port {}: cannot listen at {}:{}: it is in use, or only root may use it: take another, or 0",
         place.port, place.address, place.port);
  }

  prometheus::Gauge& add_to(prometheus::Family<prometheus::Gauge>& family, const PrometheusLabels& labels) {
    return family.Add(labels);
  }
  prometheus::Counter& add_to(prometheus::Family<prometheus::Counter>& family, const PrometheusLabels& labels) {
    return family.Add(labels);
  }
  prometheus::Histogram& add_to(prometheus::Family<prometheus::Histogram>& family, const PrometheusLabels& labels) {
    return family.Add(labels,
                      prometheus::Histogram::BucketBoundaries(reduction_buckets().begin(), reduction_buckets().end()));
  }
  template <class T>
  prometheus::Family<T>& family(const std::string& name, std::string_view help) {
    prometheus::detail::Builder<T> builder;
    return builder.Name(name).Help(std::string(help)).Register(registry_);
  }

  template <class T>
  std::vector<T*> found(Kept<T>& kept, std::string_view name, const Labels& labels) {
    const std::lock_guard lock(mutex_);
    std::vector<T*>& there = kept.series[{std::string(name), labels}];
    if (!there.empty()) return there;
    auto& families = kept.families[std::string(name)];
    if (families.empty()) {
      const std::string_view help = series_named(name).help;
      families.push_back(&family<T>(std::string(name), help));
      if (const std::string second = second_name(name); !second.empty()) families.push_back(&family<T>(second, help));
    }
    PrometheusLabels all(labels.begin(), labels.end());
    all.insert(labels_.begin(), labels_.end());  // a series' own labels count: rank 0's endpoint tells of other ranks
    for (auto* f : families) there.push_back(&add_to(*f, all));
    return there;
  }

  template <void (ServedEndpoint::*answer)(mg_connection*)>
  static int by(mg_connection* to, void* self) {
    (static_cast<ServedEndpoint*>(self)->*answer)(to);
    return 200;
  }
  static void send(mg_connection* to, const char* status, const char* type, const std::string& body) {
    mg_printf(to, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", status, type,
              body.size());
    mg_write(to, body.data(), body.size());
  }
  void metrics(mg_connection* to) {
    std::ostringstream text;
    prometheus::TextSerializer().Serialize(text, registry_.Collect());
    send(to, "200 OK", "text/plain; version=0.0.4; charset=utf-8", text.str());
  }
  void health(mg_connection* to) {
    const bool well = steady_seconds() < healthy_until_;
    send(to, well ? "200 OK" : "503 Service Unavailable", "text/plain; charset=utf-8",
         well                  ? "ok\n"
         : healthy_until_ == 0 ? "no step has ended yet\n"
                               : "the last step ended too long ago\n");
  }

  std::string address_;
  PrometheusLabels labels_;
  prometheus::Registry registry_;
  std::mutex mutex_;
  Kept<prometheus::Gauge> gauges_;
  Kept<prometheus::Counter> counters_;
  Kept<prometheus::Histogram> histograms_;
  std::atomic<double> healthy_until_ = 0;
  mg_context* server_ = nullptr;
  int port_ = 0;
};

}  // namespace

std::unique_ptr<Endpoint> listen_at(const EndpointPlace& place) { return std::make_unique<ServedEndpoint>(place); }

}  // namespace megalith
