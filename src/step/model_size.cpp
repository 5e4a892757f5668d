#include "step/model_size.h"

namespace megalith {

ModelSize size_of_model(const Model& model) {
  Graph graph;
  Builder builder(graph);
  ModelSize size;
  for (const Parameter& p : unpacked(model.build_whole(builder, {.dropout = false}).parameters)) {
    size.parameters += count(p.true_shape());
    size.padding += p.type.elements() - count(p.true_shape());
  }
  return size;
}

}  // namespace megalith
