// The plans of all pipeline stages, made by one process without the other ranks.
#pragma once
#include <list>
#include <map>
#include <string>

#include "planner/memory_need.h"
#include "settings/options.h"
#include "step/step.h"

namespace megalith {

// A plan is made at its first use. Equal stages share one plan, with the layer numbers of the stage that was asked
// for first. Without a pipeline there is one stage.
class StagePlans {
 public:
  // `own`: the existing plan of stage `own_stage`. `verifies`: each pass; a search need not, as
  // the run itself does.
  StagePlans(const Options& options, const Backend& backend, const PlannedStep* own = nullptr, int own_stage = 0,
             bool verifies = true);

  const Options& options() const { return options_; }
  const Backend& backend() const { return backend_; }
  int stages() const { return int(kinds_.size()); }
  const PlannedStep& at(int stage);
  // A plan of the same blocks, for any number of micro-batches in flight. It prefers an existing plan.
  const PlannedStep& like(int stage);
  std::string describe(int stage) const;  // "layers 3 to 5"
  int in_flight(int stage) const;         // largest number of micro-batches of one piece

  // One of these stages needs the most memory. Of stages that differ only in the micro-batches they keep, it has the
  // one that keeps the most.
  std::vector<int> fullest_candidates() const;

 private:
  // All stages of a kind have the same plan.
  struct Kind {
    std::string pieces;      // their blocks and neighbours, and which layers are mixtures of experts
    std::vector<int> slots;  // of each
    auto operator<=>(const Kind&) const = default;
  };
  Kind kind_of(int stage) const;
  std::string mixtures_in(const ModelPiece& piece) const;  // "--mm": which blocks are mixtures; empty without experts

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
