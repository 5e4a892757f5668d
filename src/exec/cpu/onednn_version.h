// The version of the oneDNN library that runs on the CPU.
#pragma once
#include <string>

namespace megalith {

std::string onednn_version();  // "2.6.3", of the library that runs

}  // namespace megalith
