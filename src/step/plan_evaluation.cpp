// Plans the program `evaluate`.
#include "passes/gather_ahead.h"
#include "step/step_planner.h"

namespace megalith {

void StepPlanner::add_evaluation(const StagePiece& piece, std::vector<Bucket>& buckets) {
  Graph& g = new_graph();
  Builder b(g);
  BuildMode mode = spec_.mode;
  mode.dropout = mode.train = false;
  const Built model = build_piece(b, piece, mode);
  if (!spec_.train) {
    for (const Parameter& p : model.parameters) add_parameter(p);
    keep_untrained(model.untrained);
  }
  ProgramSpec program{"evaluate" + piece.suffix, &g, {Phase::forward}, piece.slots};
  program.sent = messages("out", piece.sends, piece);
  for (size_t i = 0; i < model.sent.size(); ++i) g.outputs[program.sent.at(i)] = model.sent[i];
  if (!piece.sends) {
    const LossSums sums = accumulate_loss(b, model.terms.at(0));
    g.outputs["loss"] = reduced(b, sums.sum), g.outputs["tokens"] = reduced(b, sums.weight);
    for (size_t i = 1; i < model.terms.size(); ++i) {
      const LossSums other = accumulate_term(b, model.terms[i]);
      g.outputs[model.terms[i].name + " sum"] = reduced(b, other.sum);
      g.outputs[model.terms[i].name + " weight"] = reduced(b, other.weight);
    }
    if (spec_.keep_outputs) g.outputs.insert(model.outputs.begin(), model.outputs.end());
  }
  buckets = gather(g, buckets);
  const bool told = in_pipeline() || !spec_.train;
  const size_t reports = out_.passes.size();
  const std::string of = in_pipeline() ? "evaluation of " + spec_.model->describe(piece) : "";
  const QuantizeReport quantized = quantize_products(g, of, piece.suffix);
  if (!spec_.train) out_.quantized += quantized, keep_scales(quantized.states);
  gather_as_codes(g, of);
  run(g, of, standard_passes(spec_.traffic.ring), passes_off_);
  fuse_casts_of(g, of);
  if (gathers_ahead()) run(g, of, {{"gather-ahead", gather_ahead}});
  if (!told) out_.passes.resize(reports);
  programs_.push_back(program);
}

}  // namespace megalith
