// What a model is in numbers, counted over the graph that it builds.
#pragma once
#include "models/model.h"

namespace megalith {

struct ModelSize {
  i64 parameters = 0;  // that exist, whatever the layout
  i64 padding = 0;     // elements of the vocabulary's padding beside them
};
ModelSize size_of_model(const Model& model);

}  // namespace megalith
