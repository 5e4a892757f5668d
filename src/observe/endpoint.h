// The Prometheus endpoint of a run: GET /metrics and GET /healthz, on its own threads. Training stores values and a
// scrape reads them, so neither waits for the other.
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

  // Names are those of series.h. Values that are not set are not exported. Thread-safe.
  virtual void set(std::string_view gauge, double value, const Labels& labels = {}) = 0;
  virtual void add(std::string_view counter, double more, const Labels& labels = {}) = 0;
  virtual void observe(std::string_view histogram, double value) = 0;
  virtual void clear(std::string_view gauge) = 0;  // removes the series with any labels
  // /healthz returns 200 before this time (steady_seconds()), and 503 after it. Initially it returns 503.
  virtual void healthy_until(double moment) = 0;
};

struct EndpointPlace {
  std::string address;
  int port = 0;   // 0: any free port
  Labels labels;  // added to all series
};

// Error, in one line, if the port is not available, or if the program was built without prometheus-cpp.
std::unique_ptr<Endpoint> listen_at(const EndpointPlace& place);

// The endpoint that the flags request on this rank; nullptr: none. Logs its address.
std::unique_ptr<Endpoint> open_endpoint(const Options& options, const Place& place);

// job_name of a run: --run-name, else SLURM_JOB_NAME, else the save directory's name, else "megalith".
std::string name_of_run(const Options& options);

// The process that listens on a port of this host, if /proc shows it; 0: unknown.
i64 listener_of(int port);

}  // namespace megalith
