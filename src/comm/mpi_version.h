// Which MPI this build has.
#pragma once
#include <string>

namespace megalith {

// The library's own version text; works before and after MPI is started. Empty if this build has no MPI.
std::string mpi_version();

}  // namespace megalith
