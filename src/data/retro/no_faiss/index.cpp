// In a build without faiss: an index by faiss is an error.
#include "base/check.h"
#include "data/retro/point_index.h"

namespace megalith {

std::string why_no_point_index() {
  return "this build has no faiss: install libfaiss-dev and build again, or leave out the flag for exact search";
}

void check_point_index(const std::string& description, i64) {
  fail("--retro-index-str {}: {}", description, why_no_point_index());
}

std::unique_ptr<PointIndex> make_point_index(const PointIndexConfig& config, i64 size, std::span<const i16>) {
  check_point_index(config.description, size);
  return nullptr;
}

std::unique_ptr<PointIndex> read_point_index(const PointIndexConfig& config, i64 size, const std::string&) {
  check_point_index(config.description, size);
  return nullptr;
}

}  // namespace megalith
