#include "exec/cuda/kernels/attention/cudnn_attention.h"

#include <cudnn_frontend.h>

#include "base/log.h"

namespace megalith::cuda {

namespace fe = cudnn_frontend;

namespace {

using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

// Ids of tensors: their positions in CudnnPlan::run's list, counted from 1.
class SdpaGraph {
  using Attributes = fe::graph::Tensor_attributes;

 public:
  explicit SdpaGraph(const CudnnAttention& p) : p_(p) {
    graph.set_io_data_type(p.dtype == DType::f16 ? fe::DataType_t::HALF : fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT)
        .set_cuda_graph_retention(fe::CudaGraphRetention_t::NONE);
  }

  Tensor queries(const char* name) { return graph.tensor(queries_like(next(name), p_.query_heads)); }
  Tensor outputs(const char* name) { return graph.tensor(queries_like(next(name), p_.all_g * p_.r)); }
  Tensor keys(const char* name) { return graph.tensor(keys_like(next(name))); }
  Tensor stats() { return graph.tensor(stats_like(next("stats"))); }
  void queries(const Tensor& out) { finish(out, queries_like({}, p_.query_heads)); }
  void outputs(const Tensor& out) { finish(out, queries_like({}, p_.all_g * p_.r)); }
  void keys(const Tensor& out) { finish(out, keys_like({})); }
  void stats(const Tensor& out) { finish(out, stats_like({})); }

  // The numbers of queries and keys of each sequence. They follow all other tensors, of which there are `others`.
  void ends(i64 others) {
    if (!p_.lengths) return;
    const auto of = [&](const char* name, i64 id) {
      return graph.tensor(Attributes()
                              .set_name(name)
                              .set_uid(id)
                              .set_dim({p_.b, 1, 1, 1})
                              .set_stride({1, 1, 1, 1})
                              .set_data_type(fe::DataType_t::INT32));
    };
    queries_ends_ = of("queries", others + 1), keys_ends_ = of("keys", others + 2);
  }

  bool has_bias() const { return p_.bias; }
  // The bias, only for the forward. It also follows all other tensors.
  Tensor bias(i64 others) {
    const i64 heads = p_.g * p_.r, square = p_.s * p_.t;
    return graph.tensor(Attributes()
                            .set_name("bias")
                            .set_uid(others + (p_.lengths ? 3 : 1))
                            .set_dim({1, heads, p_.s, p_.t})
                            .set_stride({heads * square, square, p_.t, 1}));
  }

  template <class Attributes>
  Attributes masked(Attributes a) const {
    a.set_attn_scale(float(p_.scale));
    if (queries_ends_) a.set_padding_mask(true).set_seq_len_q(queries_ends_).set_seq_len_kv(keys_ends_);
    if (!p_.causal) return a;
    p_.s == p_.t ? a.set_causal_mask(true) : a.set_causal_mask_bottom_right(true);
    if (p_.window > 0) a.set_diagonal_band_left_bound(int(p_.window));
    return a;
  }

  fe::graph::Graph graph;

 private:
  Attributes next(const char* name) { return Attributes().set_name(name).set_uid(++ids_); }
  Attributes queries_like(Attributes a, i64 heads) const {
    return a.set_dim({p_.b, p_.g * p_.r, p_.s, p_.d}).set_stride({heads * p_.d, p_.d, p_.all_b * heads * p_.d, 1});
  }
  Attributes keys_like(Attributes a) const {
    return a.set_dim({p_.b, p_.g, p_.t, p_.d})
        .set_stride({p_.key_heads * p_.d, p_.d, p_.all_b * p_.key_heads * p_.d, 1});
  }
  Attributes stats_like(Attributes a) const {
    const i64 heads = p_.g * p_.r;
    return a.set_dim({p_.b, heads, p_.s, 1})
        .set_stride({heads * p_.s, p_.s, 1, 1})
        .set_data_type(fe::DataType_t::FLOAT);
  }
  void finish(const Tensor& out, const Attributes& like) {
    out->set_output(true).set_dim(like.get_dim()).set_stride(like.get_stride()).set_uid(++ids_);
    if (like.get_data_type() != fe::DataType_t::NOT_SET) out->set_data_type(like.get_data_type());
  }

  const CudnnAttention& p_;
  Tensor queries_ends_, keys_ends_;
  i64 ids_ = 0;
};

void forward(SdpaGraph& b) {
  const Tensor q = b.queries("q"), k = b.keys("k"), v = b.keys("v");
  b.ends(5);
  auto how = b.masked(fe::graph::SDPA_attributes().set_name("attention").set_generate_stats(true));
  if (b.has_bias()) how.set_bias(b.bias(5));
  const auto [o, stats] = b.graph.sdpa(q, k, v, how);
  b.outputs(o), b.stats(stats);
}

void backward(SdpaGraph& b, bool deterministic) {
  const Tensor q = b.queries("q"), k = b.keys("k"), v = b.keys("v"), o = b.outputs("o"), dout = b.outputs("do");
  const Tensor stats = b.stats();
  b.ends(9);
  const auto how = b.masked(
      fe::graph::SDPA_backward_attributes().set_name("attention_grad").set_deterministic_algorithm(deterministic));
  const auto [dq, dk, dv] = b.graph.sdpa_backward(q, k, v, o, dout, stats, how);
  b.queries(dq), b.keys(dk), b.keys(dv);
}

class Plan final : public CudnnPlan {
 public:
  Plan(const CudnnAttention& p, cudnnHandle_t handle) : handle_(handle), graph_(p) {
    p.backward ? backward(graph_, p.deterministic) : forward(graph_);
    fe::graph::Graph& graph = graph_.graph;
    need(graph.build(handle, {fe::HeurMode_t::A}));
    need(graph.get_workspace_size(workspace_));
  }
  i64 workspace() const override { return workspace_; }
  void run(cudaStream_t stream, std::span<void* const> tensors, std::byte* workspace) const override {
    std::unordered_map<i64, void*> by_id;
    for (size_t i = 0; i < tensors.size(); ++i) by_id[i64(i) + 1] = tensors[i];
    const cudnnStatus_t status = cudnnSetStream(handle_, stream);
    check(status == CUDNN_STATUS_SUCCESS, "[attention] choosing cuDNN's stream: {}", cudnnGetErrorString(status));
    need(graph_.graph.execute(handle_, by_id, workspace));
  }

 private:
  static void need(fe::error_t e) { check(e.is_good(), "[attention] cuDNN: {}", e.get_message()); }

  cudnnHandle_t handle_;
  SdpaGraph graph_;
  int64_t workspace_ = 0;
};

}  // namespace

const AttentionPlans::Found& AttentionPlans::find(const CudnnAttention& problem) {
  const auto [it, is_new] = found_.try_emplace(problem);
  if (!is_new) return it->second;
  try {
    it->second.plan = std::make_shared<Plan>(it->first, device_.dnn());
  } catch (const Error& e) {
    it->second.refusal = e.what();
  }
  return it->second;
}

void AttentionPlans::say_once(const std::string& line) {
  if (said_.insert(line).second) log::info("{}", line);
}

i64 cudnn_version() { return i64(cudnnGetVersion()); }

}  // namespace megalith::cuda
