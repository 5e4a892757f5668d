// Times whole runs and single instructions, by events.
#include "exec/cuda/executor.h"

namespace megalith::cuda {

Event Executor::mark() {
  Event event = make_event(cudaEventDefault);
  check_cuda(cudaEventRecord(event.get(), device_.stream()), "timing");
  return event;
}

static double seconds_between(cudaEvent_t begin, cudaEvent_t end) {
  float ms = 0;
  check_cuda(cudaEventElapsedTime(&ms, begin, end), "timing");
  return double(ms) / 1e3;
}

double Executor::busy_seconds() {
  check_cuda(cudaStreamSynchronize(device_.stream()), "timing");
  double sum = 0;
  for (size_t i = 0; i + 1 < marks_.size(); i += 2) sum += seconds_between(marks_[i].get(), marks_[i + 1].get());
  marks_.clear();
  timed_ = true;
  return sum;
}

std::vector<double> Executor::time_instructions(int program) {
  launch(program, true, 0);
  std::vector<Event> marks;
  marks.push_back(mark());
  enqueue(program, whole(program), true, 0, [&] { marks.push_back(mark()); });
  check_cuda(cudaStreamSynchronize(device_.stream()), "timing");
  std::vector<double> seconds;
  for (size_t i = 0; i + 1 < marks.size(); ++i) seconds.push_back(seconds_between(marks[i].get(), marks[i + 1].get()));
  return seconds;
}

}  // namespace megalith::cuda
