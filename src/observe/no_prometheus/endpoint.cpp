// Used if prometheus-cpp was missing at build time.
#include "observe/endpoint.h"
#include "base/check.h"

namespace megalith {

std::unique_ptr<Endpoint> listen_at(const EndpointPlace& place) {
  fail(
      "--prometheus-port {}: this program was built without prometheus-cpp: install prometheus-cpp-dev "
      "(scripts/install-deps does) and build again, or leave the flag out",
      place.port);
}

}  // namespace megalith
