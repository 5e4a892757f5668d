#include "data/retro/faiss/learning_watch.h"

#include <faiss/impl/AuxIndexStructures.h>

#include <memory>

#include "base/clock.h"
#include "base/log.h"

namespace megalith {
namespace {

constexpr double kBetweenLines = 30;

// faiss calls it in each round of a clustering.
class Asked final : public faiss::InterruptCallback {
 public:
  Asked(std::string description, double end) : description_(std::move(description)), end_(end) {}

  bool want_interrupt() override {
    const double now = steady_seconds();
    if (now - said_ >= kBetweenLines) {
      log::say("> index {}: in training for {:.0f} s", description_, now - begin_);
      said_ = now;
    }
    return end_ > 0 && now >= end_;
  }

 private:
  const std::string description_;
  const double end_, begin_ = steady_seconds();
  double said_ = begin_;
};

}  // namespace

LearningWatch::LearningWatch(const std::string& description, double limit_seconds)
    : end_(limit_seconds > 0 ? steady_seconds() + limit_seconds : 0) {
  faiss::InterruptCallback::instance = std::make_unique<Asked>(description, end_);
}

LearningWatch::~LearningWatch() { faiss::InterruptCallback::clear_instance(); }

bool LearningWatch::is_over() const { return end_ > 0 && steady_seconds() >= end_; }

}  // namespace megalith
