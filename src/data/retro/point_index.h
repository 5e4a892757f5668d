// An approximate index of points by faiss. A build has it if faiss was there when it was configured.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/retro/bag_sketch.h"

namespace megalith {

struct PointIndexConfig {
  std::string description = {};  // as faiss's index_factory reads it
  i64 probes = 1 << 16;          // lists of an inverted file that a search looks into
  i64 explored = 256;            // points of a graph of links that a search keeps in view
  double learn_seconds = 0;      // learning may take so long; 0: any time
};

class PointIndex {
 public:
  virtual ~PointIndex() = default;
  virtual void add(std::span<const i16> points) = 0;  // the first one is number 0
  // Numbers of `count` points near a query, the nearest first; -1: no more were found. Threads may call it at once.
  virtual std::vector<i64> near(std::span<const i16> query, i64 count) const = 0;
  virtual std::string bytes() const = 0;  // for read_point_index
};

std::string why_no_point_index();  // empty: this build has it

// Error, in one line, if the build has no index, or not the described one.
void check_point_index(const std::string& description, i64 size);

// `sample`: points of `size` numbers that it learns from. Its bytes do not depend on threads.
std::unique_ptr<PointIndex> make_point_index(const PointIndexConfig& config, i64 size, std::span<const i16> sample);
std::unique_ptr<PointIndex> read_point_index(const PointIndexConfig& config, i64 size, const std::string& bytes);

}  // namespace megalith
