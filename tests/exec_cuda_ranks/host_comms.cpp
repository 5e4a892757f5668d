#include "tests/exec_cuda_ranks/host_comms.h"

#include <map>

#include "tests/harness/tensor.h"

namespace megalith::harness {

namespace {

using Bytes = std::vector<std::byte>;

Bytes from_gpu(const std::byte* data, i64 n, cudaStream_t stream) {
  Bytes out((size_t(n)));
  cuda::check_cuda(cudaStreamSynchronize(stream), "test");
  cuda::check_cuda(cudaMemcpy(out.data(), data, size_t(n), cudaMemcpyDeviceToHost), "test");
  return out;
}
void to_gpu(const Bytes& bytes, std::byte* data) {
  cuda::check_cuda(cudaMemcpy(data, bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "test");
}

class HostComm final : public cuda::Comm {
 public:
  HostComm(Ranks& ranks, const cuda::CommunicatorGroup& group) : ranks_(ranks), group_(group) {}

  using Comm::all_gather, Comm::reduce_scatter;
  int members() const override { return n(); }
  int me() const override { return group_.find(ranks_.rank()); }
  void all_gather(const std::byte* mine, std::byte* all, i64 count, DType dtype, cudaStream_t stream) override {
    const i64 part = count * size_of(dtype);
    const auto parts = trade(std::vector<Bytes>(size_t(n()), from_gpu(mine, part, stream)));
    for (int k = 0; k < n(); ++k) to_gpu(parts[k], all + k * part);
  }
  void reduce_scatter(const std::byte* all, std::byte* mine, std::byte* /*room*/, i64 count, DType dtype,
                      cudaStream_t stream) override {
    const i64 part = count * size_of(dtype);
    std::vector<Bytes> parts;
    for (int k = 0; k < n(); ++k) parts.push_back(from_gpu(all + k * part, part, stream));
    to_gpu(reduced(trade(std::move(parts)), count, dtype, false), mine);
  }
  void all_reduce(const std::byte* from, std::byte* to, i64 count, DType dtype, bool largest,
                  cudaStream_t stream) override {
    const Bytes mine = from_gpu(from, count * size_of(dtype), stream);
    to_gpu(reduced(trade(std::vector<Bytes>(size_t(n()), mine)), count, dtype, largest), to);
  }
  void exchange(std::span<const cuda::Message> sends, std::span<const cuda::Message> receives,
                cudaStream_t stream) override {
    std::vector<Bytes> out, in;
    std::vector<Piece> to, from;
    for (const auto& m : sends) out.push_back(from_gpu(m.data, m.bytes, stream));
    for (const auto& m : receives) in.emplace_back(size_t(m.bytes));
    for (size_t i = 0; i < out.size(); ++i) to.push_back({rank(sends[i].member), out[i].data(), sends[i].bytes});
    for (size_t i = 0; i < in.size(); ++i) from.push_back({rank(receives[i].member), in[i].data(), receives[i].bytes});
    ranks_.wait(ranks_.exchange(0, to, from));
    for (size_t i = 0; i < in.size(); ++i) to_gpu(in[i], receives[i].data);
  }

 private:
  int n() const { return int(group_.ranks.size()); }
  int rank(int member) const { return group_.ranks[size_t(member)]; }

  // Equal sizes: to each member its bytes, from each those for this one.
  std::vector<Bytes> trade(std::vector<Bytes> out) {
    std::vector<Bytes> in(out.size(), Bytes(out[0].size()));
    std::vector<Piece> to, from;
    for (int k = 0; k < n(); ++k) {
      to.push_back({rank(k), out[k].data(), i64(out[k].size())});
      from.push_back({rank(k), in[k].data(), i64(in[k].size())});
    }
    ranks_.wait(ranks_.exchange(0, to, from));
    return in;
  }

  static Bytes reduced(const std::vector<Bytes>& terms, i64 count, DType dtype, bool largest) {
    std::vector<double> sum = from_bytes(dtype, terms[0].data(), count);
    for (size_t k = 1; k < terms.size(); ++k) {
      const std::vector<double> x = from_bytes(dtype, terms[k].data(), count);
      for (size_t i = 0; i < x.size(); ++i) sum[i] = largest ? std::max(sum[i], x[i]) : sum[i] + x[i];
    }
    Bytes out(terms[0].size());
    to_bytes(dtype, sum, out.data());
    return out;
  }

  Ranks& ranks_;
  cuda::CommunicatorGroup group_;
};

class HostComms final : public cuda::Comms {
 public:
  explicit HostComms(Ranks& ranks) : ranks_(ranks) {}
  void connect(const std::vector<cuda::CommunicatorGroup>& mine) override {
    for (const cuda::CommunicatorGroup& c : cuda::agree(ranks_, mine))
      if (c.find(ranks_.rank()) >= 0) comms_.try_emplace(c, ranks_, c);
  }
  cuda::Comm& at(const cuda::CommunicatorGroup& group) override { return comms_.at(group); }
  std::string error() override { return {}; }
  void abort() override {}

 private:
  Ranks& ranks_;
  std::map<cuda::CommunicatorGroup, HostComm> comms_;
};

}  // namespace

std::unique_ptr<cuda::Comms> make_host_comms(Ranks& ranks) { return std::make_unique<HostComms>(ranks); }

}  // namespace megalith::harness
