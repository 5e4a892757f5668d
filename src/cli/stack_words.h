// Numbers of versions in what libraries and drivers say of themselves.
#pragma once
#include <string>

namespace megalith {

// The driver's number in the text of /proc/driver/nvidia/version; empty if there is none.
std::string driver_version(const std::string& text);
// "Open MPI 4.1.4" of what the library says of itself.
std::string short_mpi_version(const std::string& text);

}  // namespace megalith
