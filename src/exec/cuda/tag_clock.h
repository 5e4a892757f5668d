// The GPU's time by tags (plan/time_tags.h). Marks in the compute stream read its clock. The host reads numbers in its
// own memory, and never waits for the GPU.
#pragma once
#include "exec/cuda/mark.h"
#include "plan/time_tags.h"

namespace megalith::cuda {

class TagClock {
 public:
  explicit TagClock(TimeTags tags);
  ~TagClock();
  TagClock(const TagClock&) = delete;
  TagClock& operator=(const TagClock&) = delete;

  void begin_run(int program, cudaStream_t stream) const;
  // Called after an instruction. Adds a mark if the tag changes or the program ends.
  void behind(int program, size_t instruction, cudaStream_t stream) const;
  void skip(cudaStream_t stream) const;
  TagSeconds seconds() const;

 private:
  TimeTags tags_;
  TagTime* time_ = nullptr;
  u64* told_ = nullptr;  // pinned
};

}  // namespace megalith::cuda
