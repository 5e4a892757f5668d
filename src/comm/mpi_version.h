// Which MPI this build has.
#pragma once
#include <string>

namespace megalith {

// As the library says it of itself, before or after it is started; empty: this build has none.
std::string mpi_version();

}  // namespace megalith
