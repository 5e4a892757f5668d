// While it lives, faiss's learning says now and then how long it has taken, and ends when its time is over. There is
// one at a time.
#pragma once
#include <string>

namespace megalith {

class LearningWatch {
 public:
  LearningWatch(const std::string& description, double limit_seconds);  // 0: any time
  ~LearningWatch();
  LearningWatch(const LearningWatch&) = delete;
  LearningWatch& operator=(const LearningWatch&) = delete;

  bool is_over() const;  // so faiss has thrown

 private:
  const double end_;  // 0: none
};

}  // namespace megalith
