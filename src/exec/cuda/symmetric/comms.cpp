#include "exec/cuda/symmetric/comms.h"

#include "exec/cuda_needs/lane_blocks.h"

namespace megalith::cuda {

namespace {

constexpr int kMostGroups = 1024;
constexpr i64 kWordsBytes = kMostGroups * i64(sizeof(MeetingWords));

bool is_aligned(const void* p, i64 bytes) { return reinterpret_cast<u64>(p) % 16 == 0 && bytes % 16 == 0; }
bool has_sums(DType t) { return t == DType::f32 || t == DType::bf16 || t == DType::f16; }

}  // namespace

// A group's member on this rank. Transfers that cannot use symmetric memory go to the other implementation; all members
// decide alike, because their buffers have the same offsets.
class SymmetricComms::Member final : public Comm {
 public:
  Member(SymmetricComms& comms, const CommunicatorGroup& group, Comm& other)
      : comms_(comms), group_(group), other_(other) {
    const auto number = comms_.numbers_.find(group);
    if (number == comms_.numbers_.end() || number->second >= kMostGroups || !has_symmetric_kernels(group.ranks.size()))
      return;
    const auto words = comms_.memory_.at(group.ranks, comms_.words_.get(), kWordsBytes);
    if (!words) return;
    on_ = {.members = int(group.ranks.size()), .me = group.find(comms_.ranks_.rank())};
    for (size_t k = 0; k < words->size(); ++k)
      on_.words[k] = reinterpret_cast<MeetingWords*>((*words)[k]) + number->second;
    on_.aborted = reinterpret_cast<const volatile u32*>(comms_.aborted_.get());
    on_.blocks = group.lane ? kLaneBlocks : kMostSymmetricBlocks;
  }

  void all_gather(const std::byte* mine, std::byte* all, i64 count, DType dtype, cudaStream_t stream) override {
    const i64 part = count * size_of(dtype);
    if (is_aligned(mine, part))
      if (const auto to = buffer(all, part * on_.members)) return symmetric_gather(on_, mine, *to, part, stream);
    other_.all_gather(mine, all, count, dtype, stream);
  }
  void reduce_scatter(const std::byte* all, std::byte* mine, i64 count, DType dtype, cudaStream_t stream) override {
    const i64 part = count * size_of(dtype);
    if (is_aligned(mine, part) && has_sums(dtype))
      if (const auto from = buffer(all, part * on_.members))
        return symmetric_reduce_scatter(on_, *from, mine, part, dtype, stream);
    other_.reduce_scatter(all, mine, count, dtype, stream);
  }
  void all_reduce(const std::byte* from, std::byte* to, i64 count, DType dtype, bool largest,
                  cudaStream_t stream) override {
    const i64 bytes = count * size_of(dtype);
    if (const auto in = has_sums(dtype) ? buffer(from, bytes) : std::nullopt) {
      if (count <= kMostSmall) return symmetric_small_reduce(on_, *in, to, count, dtype, largest, stream);
      if (const auto out = buffer(to, bytes); out && is_aligned(from, bytes) && is_aligned(to, bytes))
        return symmetric_all_reduce(on_, *in, *out, bytes, dtype, largest, stream);
    }
    other_.all_reduce(from, to, count, dtype, largest, stream);
  }
  void exchange(std::span<const Message> sends, std::span<const Message> receives, cudaStream_t stream) override {
    other_.exchange(sends, receives, stream);
  }

 private:
  // The same buffer on all members; none if it is not shared, or is not aligned.
  std::optional<SymmetricBuffer> buffer(const std::byte* mine, i64 bytes) const {
    if (on_.members == 0) return std::nullopt;
    const auto at = comms_.memory_.at(group_.ranks, mine, bytes);
    if (!at) return std::nullopt;
    SymmetricBuffer out;
    std::ranges::copy(*at, out.on);
    return out;
  }

  SymmetricComms& comms_;
  const CommunicatorGroup group_;
  Comm& other_;
  SymmetricGroup on_;  // without members: not symmetric
};

SymmetricComms::SymmetricComms(Ranks& ranks, Device& device, std::unique_ptr<Comms> others)
    : ranks_(ranks), others_(std::move(others)), memory_(ranks, device), aborted_(zeroed_pinned(sizeof(u32))) {
  words_ = try_device_memory(kWordsBytes);
  check(words_ != nullptr, "cannot allocate {} bytes on {}: it is full", kWordsBytes, device.name());
  memory_.share(words_.get(), kWordsBytes, "words");
  check_cuda(cudaMemset(words_.get(), 0, size_t(kWordsBytes)), "sharing memory");
  check_cuda(cudaDeviceSynchronize(), "sharing memory");
}

SymmetricComms::~SymmetricComms() = default;

void SymmetricComms::connect(const std::vector<CommunicatorGroup>& mine) {
  others_->connect(mine);
  for (const CommunicatorGroup& g : agree(ranks_, mine)) {
    const int host = memory_.host(g.ranks[0]);
    const bool together = std::ranges::all_of(g.ranks, [&](int r) { return memory_.host(r) == host; });
    if (g.kind == CommunicatorGroup::collective && together && !numbers_.contains(g)) numbers_[g] = made_[host]++;
  }
}

Comm& SymmetricComms::at(const CommunicatorGroup& group) {
  auto& member = members_[group];
  if (!member) member = std::make_unique<Member>(*this, group, others_->at(group));
  return *member;
}

void SymmetricComms::share(std::byte* arena, i64 bytes, const std::string& layout) {
  memory_.share(arena, bytes, layout);
}

void SymmetricComms::abort() {
  *reinterpret_cast<volatile u32*>(aborted_.get()) = 1;
  others_->abort();
}

}  // namespace megalith::cuda
