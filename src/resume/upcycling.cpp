#include "resume/upcycling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "ckpt/any_checkpoint.h"
#include "ckpt/tensors/joined_tensors.h"
#include "ckpt/tensors/mapped_tensors.h"
#include "mesh/mesh.h"
#include "models/parameter.h"

namespace megalith {
namespace {

// A factor for the elements of a tensor with index >= from.
struct Scale {
  i64 from = 0;
  float factor = 1;
};

class ScaledTensors final : public TensorReader {
 public:
  ScaledTensors(std::shared_ptr<const TensorReader> from, const std::map<std::string, Scale>& scales)
      : TensorReader(from->where()), from_(std::move(from)) {
    for (const auto& [name, scale] : scales) {
      const std::size_t i = from_->at(name);
      const TensorSpec& t = from_->tensors()[i];
      add({name, scale.factor == 1 ? t.dtype : DType::f32, t.shape});
      places_.push_back({i, scale});
    }
  }

 private:
  void do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const override {
    const auto& [source, scale] = places_[tensor];
    from_->read_range_as(source, begin, n, tensors()[tensor].dtype, out);
    if (scale.factor == 1) return;
    auto* values = reinterpret_cast<float*>(out);
    for (i64 i = std::max<i64>(0, scale.from - begin); i < n; ++i) values[i] *= scale.factor;
  }

  std::shared_ptr<const TensorReader> from_;
  std::vector<std::pair<std::size_t, Scale>> places_;
};

// Router weights [E, h], drawn by the names of the parameters: E / granularity rows, each repeated. Router biases are
// 0.
class DrawnRouters final : public TensorReader {
 public:
  DrawnRouters(const ModelConfig& m, i64 granularity, u64 seed)
      : TensorReader("routers"), m_(m), granularity_(granularity), seed_(seed) {}

  void add_router(const std::string& name) {
    const i64 e = m_.moe.num_experts;
    add({name + ".weight", DType::f32, {e, m_.hidden_size}});
    if (m_.add_bias_linear) add({name + ".bias", DType::f32, {e}});
    if (m_.moe.router_enable_expert_bias) add({name + ".expert_bias", DType::f32, {e}});
  }

 private:
  void do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const override {
    const TensorSpec& t = tensors()[tensor];
    std::vector<float> values(std::size_t(count(t.shape)), 0.0F);
    if (t.shape.size() == 2) {
      const i64 e = t.shape[0], h = t.shape[1];
      Parameter p{.name = t.name, .type = {DType::f32, t.shape, whole(2)}, .true_rows = e};
      p.initial = initial_of(m_, m_.init_method_std, e, h);
      const Mesh alone = make_mesh({});
      init_parameter(p, alone, alone.coord(0), seed_, values.data());
      for (i64 row = e; row-- > 0;)
        std::memmove(values.data() + row * h, values.data() + row / granularity_ * h, std::size_t(h) * sizeof(float));
    }
    std::memcpy(out, values.data() + begin, std::size_t(n) * sizeof(float));
  }

  const ModelConfig m_;
  i64 granularity_;
  u64 seed_;
};

// The sum of a token's router weights; its mean if the sum depends on the token.
double weight_of_token(const MoeConfig& m) {
  const bool part_of_all = m.router_score_function == RouterScore::softmax && m.router_pre_softmax;
  const double sum = part_of_all ? double(m.router_topk) / double(m.num_experts) : 1;
  return sum * m.router_topk_scaling_factor.value_or(1);
}

class Upcycler {
 public:
  Upcycler(std::shared_ptr<const TensorReader> dense, const ModelConfig& m, i64 granularity, u64 seed)
      : m_(m),
        g_(granularity),
        halves_(m.gated() ? 2 : 1),
        width_(m.expert_width()),
        dense_(std::move(dense)),
        routers_(std::make_shared<DrawnRouters>(m, granularity, seed)) {}

  std::shared_ptr<const TensorReader> make() {
    const std::vector<bool> mixtures = m_.moe.pattern(m_.num_layers);
    for (i64 n = 0; n < m_.num_layers; ++n)
      if (mixtures[std::size_t(n)]) add_layer(fmt::format("decoder.layers.{}.mlp.", n));
    for (i64 n = 0; n < m_.mtp.modules() && mixtures.back(); ++n)
      add_layer(fmt::format("mtp.layers.{}.transformer_layer.mlp.", n));
    auto all = std::make_shared<JoinedTensors>(dense_->where());
    all->join(dense_, [&](const std::string& name) { return !scales_.contains(name) && !is_optimizer_tensor(name); });
    const auto scaled = std::make_shared<ScaledTensors>(dense_, scales_);
    all->join(std::make_shared<MappedTensors>(scaled, map_, MapTo::ours, MappedTensors::Options{}));
    all->join(routers_);
    return all;
  }

 private:
  void add_layer(const std::string& at) {
    const double total = weight_of_token(m_.moe), s = double(g_) / total;
    const i64 f = g_ * width_, h = m_.hidden_size;
    // A gated MLP is linear in its up projection, so only that half gets the factor. relu(x)^2 is quadratic in the
    // first product, so the cube root balances both weights.
    const bool square = m_.activation == Activation::squared_relu;
    const double first = m_.gated() ? std::sqrt(s) : square ? std::cbrt(s) : 1;
    const double second = m_.gated() ? std::sqrt(s) : square ? std::cbrt(s) : s;
    add_first(at, ".weight", h, {m_.gated() ? f * h : 0, float(first)});
    add_second(at, {0, float(second)});
    if (m_.mlp_bias()) {
      add_first(at, ".bias", 1, {m_.gated() ? f : 0, float(first)});
      add(at, "linear_fc2.bias", {h}, {h}, {0, float(1 / total)}, [&](i64) {
        return Strides{.size = {1, 1, h}, .ours = {0, 0, 1}, .theirs = {0, 0, 1}};
      });
    }
    routers_->add_router(at + "router");
  }

  // Copies rows of each half; a row has `columns` elements.
  void add_first(const std::string& at, const std::string& end, i64 columns, const Scale& scale) {
    const i64 n = halves_, f = width_;
    const auto shape = [&](i64 width) {
      Shape s = n == 2 ? Shape{2, width} : Shape{width};
      if (end == ".weight") s.push_back(columns);
      return s;
    };
    add(at, "linear_fc1" + end, shape(g_ * f), shape(f), scale, [&](i64 piece) {
      return Strides{.size = {1, n, f * columns},
                     .ours = {0, f * columns, 1},
                     .theirs = {0, g_ * f * columns, 1},
                     .their_start = piece * f * columns};
    });
  }

  // Copies columns of each row.
  void add_second(const std::string& at, const Scale& scale) {
    const i64 f = width_, h = m_.hidden_size;
    add(at, "linear_fc2.weight", {h, g_ * f}, {h, f}, scale, [&](i64 piece) {
      return Strides{.size = {1, h, f}, .ours = {0, f, 1}, .theirs = {0, g_ * f, 1}, .their_start = piece * f};
    });
  }

  // Adds a tensor of all experts, from one of the dense MLP. `block`: the slice of each expert.
  template <class F>
  void add(const std::string& at, const std::string& name, const Shape& dense, Shape expert, const Scale& scale,
           F&& block) {
    const i64 e = m_.moe.num_experts, size = count(expert);
    expert.insert(expert.begin(), e);
    scales_[at + name] = scale;
    map_.theirs.push_back({at + name, dense}), map_.ours.push_back({at + "experts." + name, expert});
    for (i64 i = 0; i < e; ++i) {
      Strides s = block(i % g_);
      s.our_start = i * size;
      map_.links.push_back({map_.theirs.size() - 1, map_.ours.size() - 1, s});
    }
  }

  const ModelConfig& m_;
  i64 g_;
  i64 halves_, width_;  // halves of the experts' first product (2: gate and up), and the width of an expert
  std::shared_ptr<const TensorReader> dense_;
  std::shared_ptr<DrawnRouters> routers_;
  TensorMapping map_;
  std::map<std::string, Scale> scales_;
};

}  // namespace

ModelConfig model_to_load(const Options& o) {
  ModelConfig m = o.model;
  if (!o.train.moe_use_upcycling) return m;
  m.ffn_hidden_size = m.expert_width() * o.train.moe_upcycling_granularity;
  m.moe = {};
  return m;
}

std::shared_ptr<const TensorReader> upcycled(std::shared_ptr<const TensorReader> dense, const ModelConfig& mixture,
                                             i64 granularity, u64 seed) {
  return Upcycler(std::move(dense), mixture, granularity, seed).make();
}

}  // namespace megalith
