// The output of golden-check: a line for each quantity, with its error and its bound.
#pragma once
#include <string>
#include <vector>

namespace megalith {

// The largest allowed errors: of logits relative to their size, of a loss, of each gradient relative to its size. For
// training steps: of losses, of relative gradient norms, of the final weights relative to their size.
struct Bounds {
  double logits, loss, gradient, train_loss, norm, weights;
};
inline constexpr Bounds kF32Bounds = {1e-5, 1e-5, 1e-4, 1e-4, 1e-4, 1e-5};

class Report {
 public:
  void line(const std::string& quantity, double error, double bound);
  void exact(const std::string& quantity, double differences) { line(quantity, differences, 0); }
  // A quantity of the file that our model does not give.
  void lacks(const std::string& quantity);
  bool ok() const { return ok_; }

 private:
  bool ok_ = true;
};

// |a - b| / |b| of vectors of equal size; infinite for different sizes. 0 if |a - b| is at most `noise`.
double relative(const std::vector<float>& a, const std::vector<float>& b, double noise = 0);

}  // namespace megalith
