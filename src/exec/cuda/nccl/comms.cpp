// Communicators by NCCL. Only its members create a communicator, from an id that the first member draws. All ranks go
// through one sorted list, so they cannot wait for each other in a circle.
#include "exec/cuda/comms.h"

#include <nccl.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <set>

#include "exec/cuda_needs/lane_blocks.h"

namespace megalith::cuda {

namespace {

// Blocks of a transfer. Each block takes 20 MiB of memory, and a multiprocessor from concurrent work. Transfers in line
// have no concurrent work, so they get as many blocks as help. On a lane (kLaneBlocks) more blocks would be faster, but
// would slow concurrent products by more than they gain (docs/notes/multi-gpu.md). Links between stages mostly wait,
// and four of them run at a time.
constexpr int kLineBlocks = 32, kLinkBlocks = 2;
constexpr int kOldest = NCCL_VERSION(2, 19, 1);

std::string first_line(const char* text) {
  const std::string all = text ? text : "";
  return all.substr(0, all.find('\n'));
}

void check_nccl(ncclResult_t status, const char* what, const std::string& who) {
  if (status == ncclSuccess || status == ncclInProgress) return;
  const std::string more = first_line(ncclGetLastError(nullptr));
  fail("{} between {}: NCCL error {}: {}{}{}", what, who, int(status), ncclGetErrorString(status),
       more.empty() ? "" : ": ", more);
}

ncclDataType_t type_of(DType t) {
  switch (t) {
    case DType::f32:
      return ncclFloat32;
    case DType::bf16:
      return ncclBfloat16;
    case DType::f16:
      return ncclFloat16;
    case DType::f64:
      return ncclFloat64;
    case DType::i32:
      return ncclInt32;
    default:
      fail("{} numbers cannot be added between GPUs: f32, bf16, f16, f64 or i32", name_of(t));
  }
}

class NcclComm final : public Comm {
 public:
  NcclComm(const CommunicatorGroup& c, const ncclUniqueId& id, int rank)
      : who_(c.text()), members_(int(c.ranks.size())), me_(c.find(rank)) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.maxCTAs = c.kind == CommunicatorGroup::link ? kLinkBlocks : c.lane ? kLaneBlocks : kLineBlocks;
    if (config.maxCTAs == kLineBlocks) config.minCTAs = kLineBlocks;
    check(ncclCommInitRankConfig(&it_, members_, id, me_, &config), "connecting");
  }
  void destroy() { ncclCommDestroy(it_); }
  void abort() { ncclCommAbort(it_); }
  std::string error() {
    ncclResult_t status = ncclSuccess;
    if (ncclCommGetAsyncError(it_, &status) != ncclSuccess || status == ncclSuccess || status == ncclInProgress)
      return {};
    return fmt::format("{}: NCCL error {}: {}", who_, int(status), ncclGetErrorString(status));
  }

  using Comm::all_gather, Comm::reduce_scatter;
  int members() const override { return members_; }
  int me() const override { return me_; }
  void all_gather(const std::byte* mine, std::byte* all, i64 count, DType dtype, cudaStream_t stream) override {
    check(ncclAllGather(mine, all, size_t(count * size_of(dtype)), ncclUint8, it_, stream), "all_gather");
  }
  void reduce_scatter(const std::byte* all, std::byte* mine, std::byte* /*room*/, i64 count, DType dtype,
                      cudaStream_t stream) override {
    check(ncclReduceScatter(all, mine, size_t(count), type_of(dtype), ncclSum, it_, stream), "reduce_scatter");
  }
  void all_reduce(const std::byte* from, std::byte* to, i64 count, DType dtype, bool largest,
                  cudaStream_t stream) override {
    check(ncclAllReduce(from, to, size_t(count), type_of(dtype), largest ? ncclMax : ncclSum, it_, stream),
          "all_reduce");
  }
  void exchange(std::span<const Message> sends, std::span<const Message> receives, cudaStream_t stream) override {
    check(ncclGroupStart(), "exchange");
    for (const Message& m : sends) check(ncclSend(m.data, size_t(m.bytes), ncclUint8, m.member, it_, stream), "send");
    for (const Message& m : receives)
      check(ncclRecv(m.data, size_t(m.bytes), ncclUint8, m.member, it_, stream), "receive");
    check(ncclGroupEnd(), "exchange");
  }

  // NCCL allocates most of its memory at the first transfer of each kind, so this makes each kind once. Gathers and
  // large sums use the ring; small sums may use a tree. `scratch`: kScratch bytes a member.
  static constexpr i64 kScratch = 1024;
  void first_use(CommunicatorGroup::Kind kind, std::byte* scratch, int me, cudaStream_t stream) {
    if (kind == CommunicatorGroup::collective || kind == CommunicatorGroup::between_stages) {
      all_reduce(scratch, scratch, kScratch / 4, DType::f32, false, stream);
      all_gather(scratch + me * kScratch, scratch, kScratch / 4, DType::f32, stream);
      reduce_scatter(scratch, scratch + me * kScratch, nullptr, kScratch / 4, DType::f32, stream);
      return;
    }
    std::vector<Message> sends, receives;
    for (int k = 0; k < members_; ++k) {
      if (k == me) continue;
      if (kind == CommunicatorGroup::pairwise || me == 0) sends.push_back({k, scratch + me * kScratch, kScratch});
      if (kind == CommunicatorGroup::pairwise || me == 1) receives.push_back({k, scratch + k * kScratch, kScratch});
    }
    exchange(sends, receives, stream);
  }

 private:
  void check(ncclResult_t status, const char* what) { check_nccl(status, what, who_); }
  std::string who_;
  int members_, me_;
  ncclComm_t it_ = nullptr;
};

class NcclComms final : public Comms {
 public:
  NcclComms(Ranks& ranks, Device& device) : ranks_(ranks), device_(device), unwinding_(std::uncaught_exceptions()) {}

  // Destroying a communicator waits for the other members. If this rank ends by an error, they may never come.
  ~NcclComms() override {
    const bool failed = std::uncaught_exceptions() > unwinding_;
    for (auto& [group, comm] : comms_) failed ? comm->abort() : comm->destroy();
  }

  void connect(const std::vector<CommunicatorGroup>& mine) override {
    std::vector<CommunicatorGroup> missing;
    for (CommunicatorGroup& c : agree(ranks_, mine))
      if (known_.insert(c).second) missing.push_back(std::move(c));
    if (missing.empty()) return;
    const std::vector<ncclUniqueId> ids = spread_ids(missing);
    std::vector<CommunicatorGroup> made;
    for (size_t i = 0; i < missing.size(); ++i) {
      if (missing[i].find(ranks_.rank()) < 0) continue;
      auto comm = std::make_unique<NcclComm>(missing[i], ids[i], ranks_.rank());
      std::lock_guard lock(mutex_);
      comms_[missing[i]] = std::move(comm);
      made.push_back(missing[i]);
    }
    use_once(made);
  }

  Comm& at(const CommunicatorGroup& group) override {
    std::lock_guard lock(mutex_);
    const auto it = comms_.find(group);
    check(it != comms_.end(), "{} of lane or channel {} are not connected", group.text(), group.lane);
    return *it->second;
  }

  std::string error() override {
    std::lock_guard lock(mutex_);
    for (auto& [group, comm] : comms_)
      if (const std::string e = comm->error(); !e.empty()) return e;
    return {};
  }

  void abort() override {
    std::lock_guard lock(mutex_);
    for (auto& [group, comm] : comms_) comm->abort();
  }

 private:
  // Ids by group. The first member of a group draws its id.
  std::vector<ncclUniqueId> spread_ids(const std::vector<CommunicatorGroup>& groups) {
    std::string mine;
    for (const CommunicatorGroup& c : groups) {
      if (c.ranks[0] != ranks_.rank()) continue;
      ncclUniqueId id;
      check_nccl(ncclGetUniqueId(&id), "starting", c.text());
      mine.append(id.internal, sizeof id.internal);
    }
    const std::vector<std::string> texts = ranks_.all_gather(mine);
    std::map<int, size_t> used;  // number of ids used in a rank's text
    std::vector<ncclUniqueId> out(groups.size());
    for (size_t i = 0; i < groups.size(); ++i) {
      const int from = groups[i].ranks[0];
      std::memcpy(out[i].internal, texts.at(size_t(from)).data() + used[from], sizeof out[i].internal);
      used[from] += sizeof out[i].internal;
    }
    return out;
  }

  void use_once(const std::vector<CommunicatorGroup>& groups) {
    std::byte* scratch = nullptr;
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&scratch), size_t(ranks_.size()) * NcclComm::kScratch),
               "connecting GPUs");
    check_cuda(cudaMemsetAsync(scratch, 0, size_t(ranks_.size()) * NcclComm::kScratch, device_.stream()),
               "connecting GPUs");
    for (const CommunicatorGroup& c : groups)
      comms_.at(c)->first_use(c.kind, scratch, c.find(ranks_.rank()), device_.stream());
    check_cuda(cudaStreamSynchronize(device_.stream()), "connecting GPUs");
    check_cuda(cudaFree(scratch), "connecting GPUs");
  }

  Ranks& ranks_;
  Device& device_;
  const int unwinding_;
  std::set<CommunicatorGroup> known_;  // groups of all ranks
  std::mutex mutex_;                   // the watch reads the communicators on its own thread
  std::map<CommunicatorGroup, std::unique_ptr<NcclComm>> comms_;
};

// NCCL reads this when it starts. Multicast stays off unless the user requests it. It may not work for GPUs that share
// a host with other work.
void set_environment() { setenv("NCCL_NVLS_ENABLE", "0", 0); }

}  // namespace

std::unique_ptr<Comms> make_comms(Ranks& ranks, Device& device) {
  static std::once_flag once;
  std::call_once(once, set_environment);
  int version = 0;
  ncclGetVersion(&version);  // loads NCCL, so a missing library is an error before anything waits for others
  check(version >= kOldest, "NCCL {} is loaded: {} or newer is needed", version, kOldest);
  return std::make_unique<NcclComms>(ranks, device);
}

}  // namespace megalith::cuda
