// In a build without MPI: there is no library.
#include "comm/mpi_version.h"

namespace megalith {

std::string mpi_version() { return {}; }

}  // namespace megalith
