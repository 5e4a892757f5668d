// A planned step on a device, run on made-up tokens: what its kernels take, one by one and together.
#pragma once
#include <functional>

#include "calibrate/model_case.h"
#include "facts/device_facts.h"

namespace megalith {

struct StepTimes {
  // By instruction of the program; and of the whole step.
  std::vector<double> each;
  double step = 0;
  double all() const;  // of the instructions
};

double median(std::vector<double> x);

class TimedStep {
 public:
  TimedStep(const ModelCase& model, const Backend& backend);
  // After `warm` seconds of steps, so that clocks are those of a busy device.
  StepTimes measure(double warm, double measured = 0.4);  // seconds of steps in a row

  const Plan& plan() const { return step_.plan; }
  const Program& program() const { return step_.plan.programs[size_t(program_)]; }

 private:
  void fill();
  void put(const char* leaf, const void* data);
  void step();
  void wait();
  double seconds_of(i64 steps);

  ModelCase model_;
  PlannedStep step_;
  std::unique_ptr<Interpreter> interpreter_;
  int program_ = 0;
  std::vector<i32> tokens_, labels_, positions_;
  std::vector<float> mask_;
};

}  // namespace megalith
