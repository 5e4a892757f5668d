// Models of your own, in C++ over graph_c.h. UNSTABLE: a later version may change all of this file.
#ifndef MEGALITH_GRAPH_H
#define MEGALITH_GRAPH_H

#include <megalith/graph_c.h>

#include <megalith/megalith.hpp>

namespace megalith {

class ModelGraph {
 public:
  struct Weight {
    int kind = MGL_MATRIX;
    int split = -1;
    double mean = 0, std = 0.02;
  };

  explicit ModelGraph(mgl_graph* it) : it_(it) {}
  mgl_value data(const char* name) { return made(mgl_graph_data(it_, name)); }
  mgl_value weight(const char* name, const std::vector<int64_t>& dims, const Weight& w) {
    return made(mgl_graph_weight(it_, name, w.kind, dims.data(), int(dims.size()), w.split, w.mean, w.std));
  }
  mgl_value embedding(mgl_value ids, mgl_value table) { return made(mgl_graph_embedding(it_, ids, table)); }
  mgl_value einsum(const char* spec, mgl_value x, mgl_value w) { return made(mgl_graph_einsum(it_, spec, x, w)); }
  mgl_value add(const char* spec, mgl_value x, mgl_value y) { return made(mgl_graph_add(it_, spec, x, y)); }
  mgl_value activate(int activation, mgl_value x) { return made(mgl_graph_activate(it_, activation, x)); }
  mgl_value rms_norm(const char* letters, mgl_value x, mgl_value w, double eps = 1e-5) {
    return made(mgl_graph_rms_norm(it_, letters, x, w, eps));
  }
  mgl_value copy_to_ranks(mgl_value x) { return made(mgl_graph_copy_to_ranks(it_, x)); }
  mgl_value sum_over_ranks(mgl_value x) { return made(mgl_graph_sum_over_ranks(it_, x)); }
  void cross_entropy(mgl_value logits) { must(mgl_graph_cross_entropy(it_, logits)); }

 private:
  static mgl_value made(mgl_value value) {
    if (value < 0) throw Failed(mgl_last_error());
    return value;
  }
  mgl_graph* it_;
};

using OwnModel = std::function<void(ModelGraph&)>;  // make_session throws what this function throws

inline Session make_session(const Config& config, OwnModel model, Log log = {}, const Rank& rank = {}) {
  struct Called {
    OwnModel model;
    std::exception_ptr thrown;
  } called{std::move(model), nullptr};
  const mgl_model_fn build = [](void* user, mgl_graph* it) {
    Called& c = *static_cast<Called*>(user);
    try {
      ModelGraph graph(it);
      return c.model(graph), 0;
    } catch (...) {
      c.thrown = std::current_exception();
      return 1;
    }
  };
  return Session(
      [&](const mgl_session_options* options, mgl_session** out) {
        const mgl_status status = mgl_session_new_model(config.get(), options, build, &called, out);
        if (called.thrown) std::rethrow_exception(called.thrown);
        return status;
      },
      std::move(log), rank);
}

}  // namespace megalith

#endif
