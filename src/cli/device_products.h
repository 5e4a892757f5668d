// Products of points by one Einsum on a device, with bf16 operands and f32 results.
#pragma once
#include <memory>
#include <vector>

#include "data/retro/point_products.h"
#include "plan/interpreter.h"

namespace megalith {

class DeviceProducts final : public PointProducts {
 public:
  // A program for up to this many queries, and points of `size` numbers. Smaller blocks are padded.
  DeviceProducts(std::unique_ptr<Backend> backend, i64 queries, i64 points, i64 size);

  i64 most_queries() const override { return queries_; }
  i64 most_points() const override { return points_; }
  void set_points(std::span<const i16> points) override;
  std::span<const float> multiply(std::span<const i16> queries) override;

 private:
  void write(const char* leaf, std::span<const i16> numbers);

  const std::unique_ptr<Backend> backend_;
  const i64 queries_, points_;
  Plan plan_;
  std::unique_ptr<Interpreter> interpreter_;
  std::vector<bf16> numbers_;  // of a leaf
  std::vector<float> products_;
};

}  // namespace megalith
