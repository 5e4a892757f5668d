#include "ckpt/torch/megatron_save.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/check.h"
#include "ckpt/any_checkpoint.h"
#include "ckpt/native/shards.h"
#include "ckpt/torch/megatron_args.h"
#include "ckpt/torch/megatron_common.h"
#include "ckpt/torch/megatron_mapping.h"
#include "ckpt/torch/optimizer_state.h"
#include "ckpt/torch/torch_dist_save.h"
#include "mesh/block_copy.h"

namespace megalith {
namespace {

constexpr i64 kValues = kMegatronPieceBytes / i64{sizeof(float)};  // that are converted at once

// One of our dimensions in their tensor: it runs along `dim` there, `step` indices at a time.
struct Along {
  std::size_t dim = 0;
  i64 step = 0;
};

// A box within a block of ours, and the box of theirs that it is.
struct Pair {
  Shape offset, shape;  // in our block
  Shape their_offset, their_shape;
};

// The element in their tensor that is one of ours.
i64 their_element(const Strides& link, i64 ours) {
  i64 at = link.their_start;
  for (std::size_t k = 0; k < 3; ++k)
    if (link.size[k] > 1) at += ours / link.ours[k] % link.size[k] * link.theirs[k];
  return at;
}

std::vector<Along> directions(const Shape& ours, const Shape& theirs, const Strides& link) {
  const Shape steps = row_major_strides(ours), their_steps = row_major_strides(theirs);
  std::vector<Along> out(ours.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i] == 1) continue;
    const i64 step = their_element(link, steps[i]) - link.their_start;
    while (out[i].dim + 1 < theirs.size() && their_steps[out[i].dim] > step) ++out[i].dim;
    out[i].step = step / their_steps[out[i].dim];
    check(out[i].step * their_steps[out[i].dim] == step, "a dimension of ours is no dimension there");
  }
  return out;
}

// Our tensors in boxes that are also boxes of Megatron's tensors, in the same order of elements. A dim with gaps in
// Megatron's tensor is taken one index at a time. So is a dim whose order to an inner dim of ours is reversed.
std::vector<Pair> pairs(const SaveTensor& ours, const Shape& theirs, const Strides& link) {
  const Shape whole = global_shape(ours), begin = block_offset(ours);
  const std::vector<Along> along = directions(whole, theirs, link);
  Pair like{Shape(whole.size(), 0), ours.shape, Shape(theirs.size(), 0), Shape(theirs.size(), 1)};
  std::vector<std::size_t> alone;
  std::size_t outermost = theirs.size();  // of the dimensions there that are taken
  for (std::size_t i = whole.size(); i-- > 0;) {
    if (ours.shape[i] == 1) continue;
    i64& extent = like.their_shape[along[i].dim];
    if (along[i].step == extent && along[i].dim <= outermost)
      extent *= ours.shape[i], outermost = along[i].dim;
    else
      alone.push_back(i), like.shape[i] = 1;
  }
  const Shape steps = row_major_strides(whole), their_steps = row_major_strides(theirs);
  std::vector<Pair> out;
  for (;;) {
    i64 element = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) element += (begin[i] + like.offset[i]) * steps[i];
    i64 rest = their_element(link, element);
    for (std::size_t d = 0; d < theirs.size(); ++d)
      like.their_offset[d] = rest / their_steps[d], rest %= their_steps[d];
    out.push_back(like);
    std::size_t k = 0;
    while (k < alone.size() && ++like.offset[alone[k]] == ours.shape[alone[k]]) like.offset[alone[k++]] = 0;
    if (k == alone.size()) return out;
  }
}

void read_f32(const SaveTensor& t, i64 begin, i64 n, std::byte* out) {
  if (t.fill) return t.fill(begin, n, out);
  std::memcpy(out, static_cast<const float*>(t.data) + begin, std::size_t(n) * sizeof(float));
}

// Elements [begin, begin + n) of a box within a block, row-major.
void read_within(const SaveTensor& t, const Pair& p, i64 begin, i64 n, float* out) {
  i64 before = 0;
  for_runs(t.shape, p.offset, p.shape, [&](i64 first, i64 run) {
    const i64 from = std::max(begin, before), to = std::min(begin + n, before + run);
    if (from < to) read_f32(t, first + (from - before), to - from, reinterpret_cast<std::byte*>(out + (from - begin)));
    before += run;
  });
}

// Whether it has a row a token, which is padded there: a table, or the head's bias.
bool is_vocabulary(const SaveTensor& ours, const Shape& theirs, const ModelConfig& m, i64 rows) {
  const Shape whole = global_shape(ours);
  return whole.size() == theirs.size() && whole[0] == m.vocab_size && theirs[0] == rows;
}

// Rows of padding, which nobody has: zeros.
SaveTensor padding(const std::string& name, const Shape& shape, i64 rows, DType type) {
  SaveTensor t{name, shape, type};
  t.shape[0] = shape[0] - rows, t.global_shape = shape, t.offset = Shape(shape.size(), 0), t.offset[0] = rows;
  t.fill = [type](i64, i64 n, std::byte* out) { std::memset(out, 0, std::size_t(n * size_of(type))); };
  return t;
}

}  // namespace

std::vector<SaveTensor> megatron_blocks(const SaveTensor& ours, const NamedShape& theirs, const Strides& link,
                                        DType type) {
  std::vector<SaveTensor> out;
  for (Pair& p : pairs(ours, theirs.shape, link)) {
    SaveTensor& t = out.emplace_back(SaveTensor{theirs.name, p.their_shape, type});
    t.global_shape = theirs.shape, t.offset = p.their_offset;
    t.fill = [ours, p = std::move(p), type](i64 begin, i64 n, std::byte* to) {
      std::vector<float> values(std::size_t(std::min(n, kValues)));
      for (i64 done = 0; done < n; done += kValues) {
        const i64 part = std::min(kValues, n - done);
        read_within(ours, p, begin + done, part, values.data());
        convert_elements(DType::f32, reinterpret_cast<const std::byte*>(values.data()), type, to + done * size_of(type),
                         part);
      }
    };
  }
  return out;
}

i64 megatron_rows(const ModelConfig& m) {
  return std::max(m.padded_vocab_size, padded_vocab(m.vocab_size, m.make_vocab_size_divisible_by, 1));
}

std::unique_ptr<PartWriter> megatron_writer(const MegatronRun& run, const std::vector<SaveTensor>& ours, int rank,
                                            const SaveOptions& options) {
  const i64 rows = megatron_rows(run.model);
  const TensorMapping mapping = megatron_mapping(run.model, megatron_layers(run.model), rows);
  std::unordered_map<std::string, const TensorLink*> links;
  for (const TensorLink& link : mapping.links) links[mapping.ours[link.ours].name] = &link;
  const std::string state = kMegatronState;
  std::vector<SaveTensor> blocks;
  const auto add_as = [&](const SaveTensor& t, const NamedShape& theirs, const Strides& link, DType type) {
    for (SaveTensor& block : megatron_blocks(t, theirs, link, type)) {
      const i64 end = block.offset[0] + block.shape[0];
      const bool last_rows = is_vocabulary(t, theirs.shape, run.model, rows) && end == run.model.vocab_size &&
                             (block.offset.size() == 1 || block.offset[1] == 0);
      blocks.push_back(std::move(block));
      if (last_rows && rows > run.model.vocab_size) blocks.push_back(padding(theirs.name, theirs.shape, end, type));
    }
  };
  const auto add = [&](const SaveTensor& t, const std::string& name, const std::string& prefix, DType type) {
    const auto link = links.find(name);
    check(link != links.end(), "[save] {} is no parameter that Megatron-LM knows", name);
    const auto& [their, our, block] = *link->second;
    const NamedShape& theirs = mapping.theirs[their];
    if (!prefix.empty())
      return add_as(t, {prefix + megatron_state_name(run.model, theirs.name), theirs.shape}, block, type);
    add_as(t, theirs, block, type);
    const std::string second = second_megatron_name(run.model, theirs.name);
    if (!second.empty()) add_as(t, {second, theirs.shape}, block, type);
  };
  const auto is_weight = [](const SaveTensor& t) { return t.is_trained && !is_optimizer_tensor(t.name); };
  for (const SaveTensor& t : ours)
    if (!t.is_trained) links.contains(t.name) ? add(t, t.name, "", t.dtype) : blocks.push_back(t);
  for (const SaveTensor& t : ours)
    if (is_weight(t)) add(t, t.name, "", run.params);
  for (const SaveTensor& t : ours)
    if (run.has_optimizer && is_weight(t)) add(t, t.name, state + "param.", DType::f32);
  for (const SaveTensor& t : ours) {
    if (!run.has_optimizer || !is_optimizer_tensor(t.name)) continue;
    const std::size_t kind = std::string_view(kOptimizerState).size(), end = t.name.find('.', kind);
    add(t, t.name.substr(end + 1), state + t.name.substr(kind, end + 1 - kind), DType::f32);
  }
  const MegatronState common{run.manifest, run.model, rows, run.has_optimizer, run.params};
  return std::make_unique<DistcpWriter>(
      TorchDistContent{pickle_common(common), extra_state_names(run.model), common_storage(common)}, std::move(blocks),
      rank, options);
}

}  // namespace megalith
