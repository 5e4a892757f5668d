#include "exec/cuda/symmetric/comms.h"

#include "comm/on_all_ranks.h"
#include "exec/cuda_needs/lane_blocks.h"

namespace megalith::cuda {

namespace {

constexpr int kMostGroups = 256;
constexpr i64 kWordsBytes = kMostGroups * i64(sizeof(MeetingWords));

}  // namespace

// A group's member on this rank. Where its buffers are not in symmetric memory, another communicator moves the data.
// All members decide alike, because their buffers have the same offsets.
class SymmetricComms::Member final : public Comm {
 public:
  Member(SymmetricComms& comms, const CommunicatorGroup& group) : comms_(comms), group_(group) {
    const auto words = comms_.memory_.at(group.ranks, comms_.words_.get(), kWordsBytes);
    check(words.has_value(), "{} have no symmetric memory", group.text());
    on_ = {.members = int(group.ranks.size()), .me = group.find(comms_.ranks_.rank())};
    for (size_t k = 0; k < words->size(); ++k)
      on_.words[k] = reinterpret_cast<MeetingWords*>((*words)[k]) + comms_.numbers_.at(group);
    on_.aborted = reinterpret_cast<const volatile u32*>(comms_.aborted_.get());
    on_.blocks = std::min(comms_.blocks_, group.lane ? kSymmetricLaneBlocks : kMostSymmetricBlocks);
  }

  void all_gather(const std::byte* mine, std::byte* all, i64 count, DType dtype, cudaStream_t stream) override {
    const i64 part = count * size_of(dtype);
    if (const auto to = buffer(all, part * on_.members))
      symmetric_gather(on_, mine, *to, part, stream);
    else
      other().all_gather(mine, all, count, dtype, stream);
  }
  void reduce_scatter(const std::byte* all, std::byte* mine, i64 count, DType dtype, cudaStream_t stream) override {
    if (const auto from = buffer(all, count * size_of(dtype) * on_.members))
      symmetric_reduce_scatter(on_, *from, mine, count, dtype, stream);
    else
      other().reduce_scatter(all, mine, count, dtype, stream);
  }
  void all_reduce(const std::byte* from, std::byte* to, i64 count, DType dtype, bool largest,
                  cudaStream_t stream) override {
    const i64 bytes = count * size_of(dtype);
    const auto in = buffer(from, bytes), out = buffer(to, bytes);
    if (in && out)
      symmetric_all_reduce(on_, *in, *out, count, dtype, largest, stream);
    else
      other().all_reduce(from, to, count, dtype, largest, stream);
  }
  void exchange(std::span<const Message> sends, std::span<const Message> receives, cudaStream_t stream) override {
    other().exchange(sends, receives, stream);
  }

 private:
  Comm& other() { return comms_.others_->at(group_); }
  // The same buffer on all members; none if it is not shared.
  std::optional<SymmetricBuffer> buffer(const std::byte* mine, i64 bytes) const {
    const auto at = comms_.memory_.at(group_.ranks, mine, bytes);
    if (!at) return std::nullopt;
    SymmetricBuffer out;
    std::ranges::copy(*at, out.on);
    return out;
  }

  SymmetricComms& comms_;
  const CommunicatorGroup group_;
  SymmetricGroup on_;
};

SymmetricComms::SymmetricComms(Ranks& ranks, Device& device, std::unique_ptr<Comms> others, const Settings& settings)
    : ranks_(ranks),
      device_(device),
      blocks_(settings.blocks),
      others_(std::move(others)),
      memory_(ranks, device, settings.takes_part),
      aborted_(zeroed_pinned(sizeof(u32))) {}

SymmetricComms::~SymmetricComms() = default;

// At the first connection, because a backend is also made where another rank may fail.
void SymmetricComms::begin() {
  on_all_ranks(ranks_, [&] {
    words_ = try_device_memory(kWordsBytes);
    check(words_ != nullptr, "cannot allocate {} bytes on {}: it is full", kWordsBytes, device_.name());
  });
  memory_.find_hosts();
  std::set<int> all;
  for (int r = 0; r < ranks_.size(); ++r) all.insert(r);
  memory_.share(words_.get(), kWordsBytes, "words", all);
  check_cuda(cudaMemset(words_.get(), 0, size_t(kWordsBytes)), "sharing memory");
  check_cuda(cudaDeviceSynchronize(), "sharing memory");
}

// All ranks know all groups, so that the groups of a host have the same numbers on all its ranks.
void SymmetricComms::connect(const std::vector<CommunicatorGroup>& mine) {
  if (!words_) begin();
  for (const CommunicatorGroup& g : agree(ranks_, mine)) {
    const int host = memory_.host(g.ranks[0]);
    const bool fits = g.kind == CommunicatorGroup::collective && may_be_symmetric(g.ranks.size()) &&
                      memory_.reach_each_other(g.ranks, words_.get()) && made_[host] < kMostGroups;
    if (fits && !numbers_.contains(g)) numbers_[g] = made_[host]++;
  }
  peers_.clear(), own_.clear();
  std::vector<CommunicatorGroup> rest;
  for (const CommunicatorGroup& g : mine) (numbers_.contains(g) ? own_ : rest).push_back(g);
  for (const CommunicatorGroup& g : own_) peers_.insert(g.ranks.begin(), g.ranks.end());
  peers_.erase(ranks_.rank());
  if (!peers_.empty()) load_symmetric_kernels();
  others_->connect(rest);
}

Comm& SymmetricComms::at(const CommunicatorGroup& group) {
  if (!numbers_.contains(group)) return others_->at(group);
  auto& member = members_[group];
  if (!member) member = std::make_unique<Member>(*this, group);
  return *member;
}

void SymmetricComms::share(std::byte* arena, i64 bytes, const std::string& layout) {
  memory_.share(arena, bytes, layout, peers_);
  std::vector<CommunicatorGroup> without;
  for (const CommunicatorGroup& g : own_)
    if (!memory_.reach_each_other(g.ranks, arena)) without.push_back(g);
  others_->connect(without);
}

void SymmetricComms::abort() {
  *reinterpret_cast<volatile u32*>(aborted_.get()) = 1;
  others_->abort();
}

}  // namespace megalith::cuda
