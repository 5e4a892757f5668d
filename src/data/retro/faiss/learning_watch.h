// During its lifetime faiss's training logs its duration from time to time, and ends at the time limit. Only one may
// exist at a time.
#pragma once
#include <string>

namespace megalith {

class LearningWatch {
 public:
  LearningWatch(const std::string& description, double limit_seconds);  // 0: no limit
  ~LearningWatch();
  LearningWatch(const LearningWatch&) = delete;
  LearningWatch& operator=(const LearningWatch&) = delete;

  bool is_over() const;  // whether the limit was exceeded, so that faiss has thrown

 private:
  const double end_;  // 0: none
};

}  // namespace megalith
