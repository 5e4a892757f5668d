// Stub for builds without MPI.
#include "comm/transport.h"

#include "base/check.h"

namespace megalith {

std::unique_ptr<Transport> make_mpi_transport(const Place& place, i64) {
  fail("{} started {} ranks, but this build has no MPI: install libopenmpi-dev and build again, or start one process",
       place.launcher, place.size);
}

}  // namespace megalith
