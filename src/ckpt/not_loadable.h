// Explains why a directory cannot be loaded.
#pragma once
#include <string>

namespace megalith {

// For a directory with neither checkpoints nor a config.json: its content, and what to do.
std::string why_not_loadable(const std::string& dir);

// Weights in an unsupported format, and what to do. Empty if there are none.
std::string weights_of_others(const std::string& dir);

// A folder directly below that could be meant; else empty.
std::string model_below(const std::string& dir);

// "; a download of it was not finished: ..." if a hub client left a partial file in the directory; else empty.
std::string unfinished_download(const std::string& dir);

}  // namespace megalith
