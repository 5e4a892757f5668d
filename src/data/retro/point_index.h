// An approximate index of points by faiss. A build has it if faiss was there when it was configured.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/retro/bag_sketch.h"

namespace megalith {

struct PointIndexConfig {
  std::string description = {};  // in the syntax of faiss's index_factory
  i64 probes = 1 << 16;          // number of inverted lists that a search reads
  i64 explored = 256;            // number of HNSW candidates that a search keeps
  double learn_seconds = 0;      // time limit of training; 0: none
};

class PointIndex {
 public:
  virtual ~PointIndex() = default;
  virtual void add(std::span<const i16> points) = 0;  // the first point has index 0
  // Indices of `count` points near a query, nearest first; -1: no more were found. Thread-safe.
  virtual std::vector<i64> near(std::span<const i16> query, i64 count) const = 0;
  virtual std::string bytes() const = 0;  // for read_point_index
};

std::string why_no_point_index();  // empty: this build has faiss

// Error, in one line, if the build has no faiss, or if the description is not supported.
void check_point_index(const std::string& description, i64 size);

// `sample`: training points of `size` numbers. The index does not depend on the number of threads.
std::unique_ptr<PointIndex> make_point_index(const PointIndexConfig& config, i64 size, std::span<const i16> sample);
std::unique_ptr<PointIndex> read_point_index(const PointIndexConfig& config, i64 size, const std::string& bytes);

}  // namespace megalith
