#include "comm/mpi_version.h"

namespace megalith {

std::string mpi_version() { return {}; }

}  // namespace megalith
