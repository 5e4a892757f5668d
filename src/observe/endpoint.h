// The Prometheus endpoint of a run: GET /metrics and GET /healthz, on its own threads. Values are stored, and a scrape
// reads the stored ones: neither scrape nor training waits for the other.
#pragma once
#include <functional>
#include <memory>
#include <string_view>

#include "comm/place.h"
#include "observe/series.h"
#include "settings/options.h"

namespace megalith {

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  virtual int port() const = 0;

  // Names are those of series.h; values that are not set are not exported. Any thread may call it.
  virtual void set(std::string_view gauge, double value, const Labels& labels = {}) = 0;
  virtual void add(std::string_view counter, double more, const Labels& labels = {}) = 0;
  virtual void observe(std::string_view histogram, double value) = 0;
  virtual void clear(std::string_view gauge) = 0;  // all its labels
  // /healthz says 200 before this moment, by steady_seconds(), else 503. At first it says 503.
  virtual void healthy_until(double moment) = 0;
};

struct EndpointPlace {
  std::string address;
  int port = 0;   // 0: a free one
  Labels labels;  // of all series
};

// Error, in one line, if the port can't be had, or if the program was built without prometheus-cpp.
std::unique_ptr<Endpoint> listen_at(const EndpointPlace& place);

// What the flags ask for on this rank; nullptr: no endpoint. Says where it is.
std::unique_ptr<Endpoint> open_endpoint(const Options& options, const Place& place);

// job_name of a run: --run-name, else SLURM_JOB_NAME, else the save directory's name, else "megalith".
std::string name_of_run(const Options& options);

// The process that listens on a port of this host, where /proc shows it; 0: unknown.
i64 listener_of(int port);

}  // namespace megalith
