#include "base/one_line.h"

#include <filesystem>
#include <new>

#include "base/escape.h"

namespace megalith {

std::string one_line(const std::exception& error) {
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error)) {
    const std::string to = file->path2().empty() ? "" : " to " + escape_controls(file->path2().string());
    return fmt::format("{}{}: {}; check the path and its permissions", escape_controls(file->path1().string()), to,
                       file->code().message());
  }
  if (dynamic_cast<const std::bad_alloc*>(&error))
    return "the host's memory ran out; free some, or make the run smaller";
  return escape_controls(error.what());
}

}  // namespace megalith
