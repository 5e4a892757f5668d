// Generates Megatron's torch_dist checkpoints of a small Llama, with given arguments.
#pragma once
#include <cstring>
#include <functional>
#include <vector>

#include "ckpt/torch/megatron_mapping.h"
#include "ckpt/torch/pickle_writer.h"
#include "ckpt/torch/torch_dist_save.h"
#include "tests/ckpt/small_models.h"

namespace megalith {

// Tensors of one repeated byte: the same in all but one.
class FilledTensors final : public TensorReader {
 public:
  FilledTensors(const std::vector<NamedShape>& tensors, DType type, std::string other = "")
      : TensorReader("memory"), other_(std::move(other)) {
    for (const NamedShape& t : tensors) add({t.name, type, t.shape});
  }

 private:
  void do_read(std::size_t tensor, i64, i64 n, std::byte* out) const override {
    const TensorSpec& t = tensors()[tensor];
    std::memset(out, t.name == other_ ? 0x3d : 0x3c, std::size_t(n * size_of(t.dtype)));
  }

  std::string other_;
};

struct MegatronFiles {
  std::function<void(PickleWriter&)> more_args{};        // in addition to the model's sizes
  std::function<void(PickleWriter&)> more_common{};      // in addition to the arguments
  std::function<void(std::vector<NamedShape>&)> edit{};  // of the tensors
  std::string other{};                                   // the tensor with other numbers than the rest
};

inline std::string megatron_common(const ModelConfig& m, const MegatronFiles& files) {
  PickleWriter p;
  p.dict([&] {
    p.text("args");
    p.object("argparse", "Namespace", [&] {
      p.dict([&] {
        p.entry("num_layers", m.num_layers), p.entry("hidden_size", m.hidden_size);
        p.entry("num_attention_heads", m.num_attention_heads), p.entry("num_query_groups", m.num_query_groups);
        p.entry("ffn_hidden_size", m.ffn_hidden_size), p.entry("kv_channels", m.kv_channels);
        p.entry("position_embedding_type", std::string_view("rope")), p.flag("swiglu", true);
        if (files.more_args) files.more_args(p);
      });
    });
    p.entry("checkpoint_version", 3.0), p.entry("iteration", i64{3});  // with equal keys the last counts
    if (files.more_common) files.more_common(p);
  });
  return p.finish();
}

// SAVE/iter_0000003.
inline void write_megatron_files(const std::string& save, const MegatronFiles& files) {
  ModelConfig model = parse_hf_config(kSmallLlama, "small model").model;
  model.resolve();
  std::vector<NamedShape> tensors = megatron_mapping(model, MegatronLayers::stacked, model.vocab_size).theirs;
  if (files.edit) files.edit(tensors);
  save_torch_dist(save, 3, {megatron_common(model, files)}, FilledTensors(tensors, DType::bf16, files.other));
}

}  // namespace megalith
