// A planned step on a device with generated tokens: measures its kernels one by one and as a whole.
#pragma once
#include <functional>

#include "calibrate/model_case.h"
#include "facts/device_facts.h"

namespace megalith {

// A step to measure, on one rank.
struct TimedCase {
  std::string name;
  StepSpec spec;
  i64 seq = 0, batch = 0, vocab = 0;
};
TimedCase timed(const ModelCase& model);

struct StepTimes {
  // Seconds of each instruction of the program, and of the whole step.
  std::vector<double> each;
  double step = 0;
  double all() const;  // for each instruction
};

double median(std::vector<double> x);
// Of measured seconds: a GPU's median. Other programs only add time to a CPU's, so the least counts there.
double typical(const std::vector<double>& x, bool gpu);

class TimedStep {
 public:
  TimedStep(TimedCase model, const Backend& backend);
  // First runs steps for `warm` seconds, so that the device has its clocks under load.
  StepTimes measure(double warm, double measured = 0.4);  // seconds per step, of consecutive steps
  // For CPUs: the least time of each instruction, and of a step. They take turns, so a program that runs for a while
  // slows both.
  StepTimes measure_in_turns(int turns);

  const Plan& plan() const { return step_.plan; }
  const Program& program() const { return step_.plan.programs[size_t(program_)]; }

 private:
  void fill();
  void put(const char* leaf, const void* data);
  void step();
  void wait();
  double seconds_of(i64 steps);

  TimedCase model_;
  PlannedStep step_;
  std::unique_ptr<Interpreter> interpreter_;
  int program_ = 0;
  std::vector<i32> tokens_, labels_, positions_;
  std::vector<float> mask_;
};

}  // namespace megalith
