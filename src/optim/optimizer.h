// The contract of an optimizer: its flags, the tensors it keeps for each parameter, and the numbers that the host
// computes before each step. Last, the update of a parameter as a graph. Leaves, checkpoints, buckets and offload to
// the host use only what it declares; no other code knows an optimizer by name. docs/adding.md explains how to add one.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/precision.h"
#include "models/parameter.h"
#include "ops/update_rules.h"
#include "optim/config.h"

namespace megalith {

// A tensor of a parameter's shape, zero at first. Its leaf is PARAMETER.SUFFIX, in checkpoints
// optimizer.SUFFIX.PARAMETER.
struct OptimizerState {
  std::string suffix;
  DType dtype;
  bool operator==(const OptimizerState&) const = default;
};

// The target of one update: a parameter, or a rank's part of a bucket. With granularity matrix that part is a stack of
// unsplit parameters of one type: the first dim of all values numbers them.
struct Target {
  const Parameter& like;                     // the parameter, or one of the bucket's
  Value weights = {};                        // main weights; changed in place
  Value copy = {};                           // the weights in compute precision, updated in place; {}: no such copy
  Value gradient = {};                       // summed over the ranks
  std::vector<Value> states = {};            // as states() lists them
  Value scalars = {}, step_scalars_in = {};  // of the step, ops/update.h
  bool decay = true, stacked = false;
};

enum class Granularity { element, matrix };

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual std::unique_ptr<Optimizer> clone() const = 0;

  virtual std::string_view name() const = 0;                // of --optimizer
  virtual void list_fields(config::FieldList& fields) = 0;  // its flags, in its own members
  virtual std::string mistake() const { return {}; }        // the mistake in their values

  // The name of the optimizer that updates the parameter, where it is chosen: its own, or another's.
  virtual std::string_view updates_by(const Parameter&) const { return name(); }
  // matrix: update() needs a whole parameter, not stretches of its elements.
  virtual Granularity granularity() const { return Granularity::element; }
  // Whether it accepts a leaf in which several parameters are packed. If not, the model declares them separately.
  virtual bool takes_packed() const { return true; }

  virtual std::vector<OptimizerState> states(const Precision& precision) const = 0;
  // The numbers of step t (from 1), which its updates find in `step_scalars_in` from step_scalars_in::kOwn on.
  virtual int scalars() const { return 0; }
  virtual void write_scalars(i64 /*t*/, double* /*out*/) const {}
  // The new weights: the copy, or, without one, the main weights.
  virtual Value update(Builder& b, const Target& target) const = 0;
};

void list_fields(Optimizer& optimizer, config::FieldList& fields);

// The optimizer that updates a parameter in a run.
const Optimizer& updater_of(const OptimizerConfig& config, const Parameter& parameter);
// Suffixes of the states of all parameters, each once.
std::vector<std::string> state_suffixes(const OptimizerConfig& config, const std::vector<Parameter>& parameters);
// Of parameters of every kind. Stages of a pipeline hold different kinds, but agree on this list.
std::vector<std::string> state_suffixes(const OptimizerConfig& config);

// For optimizers that are a rule of ops/update_rules.h.
Value update_by(Builder& b, const UpdateRule& rule, const Target& target);

// Error text unless a factor of a moving mean is in range; `flag` without dashes.
std::string mistake_of_decay(std::string_view flag, double value);

}  // namespace megalith
