#include "library/given_model.h"

#include "library/call.h"

namespace megalith {

Handles<mgl_graph>& graphs() {
  static auto* it = new Handles<mgl_graph>;
  return *it;
}

std::vector<DataInput> GivenModel::inputs() const { return {{"tokens"}, {"labels"}, {"loss_mask"}, {"position_ids"}}; }

Built GivenModel::build(Builder& b, const ModelPiece&, const BuildMode& mode) const {
  Built out;
  mgl_graph graph{b, out, mode, seq_length_, vocab_size_};
  b.set_module("model");
  graphs().add(&graph);
  int code = 0;
  try {
    code = build_(user_, &graph);
  } catch (...) {  // the caller may be C++ and throw anything
    code = -1;
  }
  graphs().remove(&graph);
  check(graph.failed.empty(), "the model: {}", graph.failed);
  check(code == 0, "the function that builds the model returned {}, or threw", code);
  check(!out.terms.empty(), "the model has no loss: call mgl_graph_cross_entropy in it");
  check(!out.parameters.empty(), "the model has no weights: call mgl_graph_weight in it");
  return out;
}

}  // namespace megalith
