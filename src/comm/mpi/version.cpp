// The name of the MPI library, for --version.
#include <mpi.h>

#include "comm/mpi_version.h"

namespace megalith {

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  return MPI_Get_library_version(text, &length) == MPI_SUCCESS ? std::string(text, std::size_t(length)) : "";
}

}  // namespace megalith
