#include "cli/stack.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/escape.h"
#include "cli/stack_words.h"
#include "comm/mpi_version.h"
#include "exec/cpu/onednn_version.h"

namespace megalith {

std::vector<std::string> stack_parts() {
  std::vector<std::string> parts = {fmt::format("megalith {}", MEGALITH_VERSION)};
  const auto add = [&](const std::string& name, const std::string& version) {
    if (!version.empty()) parts.push_back(name + version);
  };
  add("commit ", built_commit());
  add("", MEGALITH_COMPILER);
  add("oneDNN ", onednn_version());
  add("", short_mpi_version(mpi_version()));
  const std::string built_for = MEGALITH_BUILT_FOR;
  for (std::size_t at = 0; at < built_for.size();) {
    const std::size_t end = std::min(built_for.find(", ", at), built_for.size());
    add("", built_for.substr(at, end - at));
    at = end + 2;
  }
  std::ifstream driver("/proc/driver/nvidia/version");
  add("driver ", driver_version({std::istreambuf_iterator<char>(driver), {}}));
  constexpr std::size_t kLongest = 200;
  const char* image = std::getenv("MEGALITH_IMAGE_DIGEST");
  add("image ", image ? escape_controls(std::string(image).substr(0, kLongest)) : "");
  return parts;
}

std::string stack_line() { return fmt::format("{}", fmt::join(stack_parts(), "; ")); }

}  // namespace megalith
