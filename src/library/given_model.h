// A model that is built by the program that uses the library, with the functions of include/megalith/graph_c.h.
#pragma once
#include "megalith/graph_c.h"
#include "models/model.h"

// The graph to which a model's function adds.
struct mgl_graph {
  megalith::Builder& b;
  megalith::Built& out;
  const megalith::BuildMode& mode;
  megalith::i64 seq_length, vocab_size;
  std::vector<megalith::Value> values = {};
  std::string failed = {};  // the error of the first call that failed
};

namespace megalith {

class GivenModel final : public Model {
 public:
  GivenModel(mgl_model_fn build, void* user) : build_(build), user_(user) {}
  // Sizes of the batches. Called when the options are read.
  void set_sizes(i64 seq_length, i64 vocab_size) { seq_length_ = seq_length, vocab_size_ = vocab_size; }

  int blocks() const override { return 1; }
  std::string describe(const ModelPiece&) const override { return "the caller's model"; }
  std::vector<DataInput> inputs() const override;
  std::vector<std::string> terms() const override { return {"lm loss"}; }
  Built build(Builder& b, const ModelPiece& piece, const BuildMode& mode) const override;

 private:
  mgl_model_fn build_;
  void* user_;
  i64 seq_length_ = 0, vocab_size_ = 0;
};

}  // namespace megalith
