// Plans a step of one rank: its model pieces as graphs and programs, the update, evaluation, memory. Without a pipeline
// there is one piece, and one graph that includes the update; then passes move the update's nodes between those of the
// backward.
#pragma once
#include "passes/gradients.h"
#include "passes/tally.h"
#include "step/step.h"

namespace megalith {

using Workspace = std::function<i64(const Graph&, const Node&)>;

inline constexpr const char* kFuseCasts = "fuse-casts";  // the pass

class StepPlanner {
 public:
  StepPlanner(const StepSpec& spec, const Workspace& workspace, const std::set<std::string>& passes_off,
              bool casts_once, const HasKernel& has_coded_kernel);
  PlannedStep plan();

 private:
  struct TrainedPiece {  // a piece's training graph, before the passes
    StagePiece piece;
    Graph* graph;
    std::vector<Parameter> parameters;
    Accumulators sums;
    Value tally;
    size_t first;  // of its parameters among the rank's
  };

  Graph& new_graph();
  Built build_piece(Builder& b, const StagePiece& piece, const BuildMode& mode) const;
  void build_training(const StagePiece& piece);
  bool add_parameter(const Parameter& p);
  void keep_untrained(const std::vector<Untrained>& untrained);
  void begin_sums(const TrainedPiece& built);
  std::vector<Bucket> gather(Graph& g, const std::vector<Bucket>& buckets);
  void add_update_to(Graph& g, const std::vector<Parameter>& parameters, const Accumulators& sums,
                     const std::vector<Value>& tallies);
  void add_update_program();
  void keep_scales(const ScaleStates& states);
  void end_scales(Builder& b, const ScaleStates& states, Value seen);
  void end_counts(Graph& g, const CastCounts& counts);
  void gather_as_codes(Graph& g, const std::string& of);
  QuantizeReport quantize_products(Graph& g, const std::string& of, const std::string& suffix);
  void rewrite_training(const TrainedPiece& built);
  void fuse_casts_of(Graph& g, const std::string& of);
  void offload(Graph& g, const std::string& of, const std::string& suffix);
  void add_programs(const TrainedPiece& built);
  void add_state_programs();
  void add_evaluation(const StagePiece& piece, std::vector<Bucket>& buckets);
  i64 activation_bytes(const Graph& g) const;
  void run(Graph& g, const std::string& of, const std::vector<Pass>& passes, const std::set<std::string>& off = {});
  bool gathers_ahead() const { return spec_.traffic.overlap_weights || spec_.quantize.config.gather_codes; }
  bool verifies() const { return !passes_off_.contains("verify"); }  // graphs
  bool in_pipeline() const { return out_.pipeline.has_value(); }

  const StepSpec& spec_;
  const Workspace& workspace_;
  const std::set<std::string>& passes_off_;
  const bool casts_once_;
  const HasKernel& has_coded_kernel_;  // empty: casts are not fused
  std::vector<StagePiece> pieces_;
  std::vector<ProgramSpec> programs_;
  std::vector<TrainedPiece> built_;  // by piece
  std::vector<Parameter> parameters_;
  std::vector<Untrained> untrained_;
  bool begun_ = false;  // sums of gradients over ranks, by the pieces' last programs
  PlannedStep out_;
};

}  // namespace megalith
