// Version numbers in the texts of libraries and drivers.
#pragma once
#include <string>

namespace megalith {

// The driver's version in the text of /proc/driver/nvidia/version. Empty if there is none.
std::string driver_version(const std::string& text);
// "Open MPI 4.1.4" from the library's own text.
std::string short_mpi_version(const std::string& text);

}  // namespace megalith
