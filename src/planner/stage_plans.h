// The plans of all stages of a pipeline, made by one process without the pipeline's ranks.
#pragma once
#include <list>
#include <map>
#include <string>

#include "planner/memory_need.h"
#include "settings/options.h"
#include "step/step.h"

namespace megalith {

// Each plan is made when it is asked for. Stages that are alike share one: the numbers of its layers are those of the
// first of them that was asked for. Without a pipeline there is one stage.
class StagePlans {
 public:
  // `own`: the plan of stage `own_stage`, which need not be made again.
  StagePlans(const Options& options, const Backend& backend, const PlannedStep* own = nullptr, int own_stage = 0);

  const Options& options() const { return options_; }
  const Backend& backend() const { return backend_; }
  int stages() const { return int(kinds_.size()); }
  const PlannedStep& at(int stage);
  // A plan of the same blocks, with whatever number of micro-batches it keeps: one that is made if there is any.
  const PlannedStep& like(int stage);
  std::string describe(int stage) const;  // "layers 3 to 5"
  int in_flight(int stage) const;         // most micro-batches of one piece

  // Stages of which one needs the most memory: of those that differ only in how many micro-batches they keep, the one
  // that keeps the most.
  std::vector<int> fullest_candidates() const;

 private:
  // Stages of one kind have the same plan.
  struct Kind {
    std::string pieces;      // their blocks and neighbours, and which layers are mixtures of experts
    std::vector<int> slots;  // of each
    auto operator<=>(const Kind&) const = default;
  };
  Kind kind_of(int stage) const;
  std::string mixtures_in(const ModelPiece& piece) const;  // "--mm": which of its blocks are; empty without experts

  const Options& options_;
  const Backend& backend_;
  std::vector<bool> mixtures_;   // by layer
  std::vector<StepSpec> specs_;  // by stage
  std::vector<Kind> kinds_;      // by stage
  std::list<PlannedStep> made_;
  std::map<Kind, const PlannedStep*> plans_;
};

struct FullestStage {
  int stage = 0;
  MemoryNeed need{};
};
FullestStage fullest_stage(StagePlans& plans, bool resumes);

}  // namespace megalith
