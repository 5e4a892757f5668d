// What golden-check says: a line for each quantity that it held, with its error and its bound.
#pragma once
#include <string>
#include <vector>

namespace megalith {

// Largest errors: of the logits relative to their size, of a loss, of each gradient relative to its size. Of the
// training steps: of the losses, of the relative gradient norms, of the weights after them relative to their size.
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

// |a - b| / |b|, of vectors of one size; infinite if they are not. 0 if |a - b| is at most `noise`.
double relative(const std::vector<float>& a, const std::vector<float>& b, double noise = 0);

}  // namespace megalith
