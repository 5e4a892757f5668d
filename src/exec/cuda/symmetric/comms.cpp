#include "exec/cuda/symmetric/comms.h"

#include "comm/on_all_ranks.h"
#include "exec/cuda/symmetric/copies.h"
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
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  using Comm::all_gather, Comm::reduce_scatter;
  int members() const override { return on_.members; }
  int me() const override { return on_.me; }
  void all_gather(const std::byte* mine, std::byte* all, i64 count, DType dtype, cudaStream_t stream) override {
    const i64 part = count * size_of(dtype);
    const auto to = buffer(all, part * on_.members);
    if (!to) return other().all_gather(mine, all, count, dtype, stream);
    if (copies(part))
      copied_.gather(mine, *to, part, stream);
    else
      symmetric_gather(on_, mine, *to, part, stream);
  }
  void reduce_scatter(const std::byte* all, std::byte* mine, std::byte* room, i64 count, DType dtype,
                      cudaStream_t stream) override {
    const i64 part = count * size_of(dtype);
    const auto from = buffer(all, part * on_.members);
    if (!from) return other().reduce_scatter(all, mine, room, count, dtype, stream);
    if (const auto to = rooms(all, mine, room, part, dtype))
      copied_.reduce_scatter(all, *to, count, dtype, stream);
    else
      symmetric_reduce_scatter(on_, *from, mine, count, dtype, stream);
  }
  void all_gather(const std::byte* mine, std::byte* all, i64 count, DType dtype, const Beside& work) override {
    const i64 part = count * size_of(dtype);
    const auto to = buffer(all, part * on_.members);
    if (to && copies(part))
      copied_.gather(mine, *to, part, work);
    else
      Comm::all_gather(mine, all, count, dtype, work);
  }
  void reduce_scatter(const std::byte* all, std::byte* mine, std::byte* room, i64 count, DType dtype,
                      const Beside& work) override {
    if (const auto to = rooms(all, mine, room, count * size_of(dtype), dtype))
      copied_.reduce_scatter(all, *to, count, dtype, work);
    else
      Comm::reduce_scatter(all, mine, room, count, dtype, work);
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
  bool decides_on_gpu() const override { return true; }
  void all_reduce_max_unless(const float* unless, const std::byte* from, std::byte* to, i64 count,
                             cudaStream_t stream) override {
    const auto in = buffer(from, count * i64(sizeof(float)));
    if (in && count <= kSmallReduction)
      symmetric_max_unless(on_, unless, *in, to, count, stream);
    else
      all_reduce(from, to, count, DType::f32, true, stream);
  }
  void exchange(std::span<const Message> sends, std::span<const Message> receives, cudaStream_t stream) override {
    other().exchange(sends, receives, stream);
  }

 private:
  Comm& other() { return comms_.others_->at(group_); }
  // Only lanes have concurrent work, and are never captured into a graph.
  bool copies(i64 part) const { return group_.lane && comms_.copies_ && part >= kLeastCopied; }
  // Where members receive the terms of a sum, if copy engines can move them. None for a sum in place.
  std::optional<SumRooms> rooms(const std::byte* all, const std::byte* mine, const std::byte* room, i64 part,
                                DType dtype) const {
    const bool in_place = mine + part > all && mine < all + part * on_.members;
    if (!copies(part) || in_place || !has_words(on_, all, mine, part, dtype)) return {};
    const auto first = buffer(mine, part), others = on_.members > 2 ? buffer(room, part * (on_.members - 2)) : first;
    if (!first || !others) return {};
    return SumRooms{*first, *others};
  }
  // The same buffer on all members; none if it is not shared.
  std::optional<SymmetricBuffer> buffer(const std::byte* mine, i64 bytes) const {
    const auto at = comms_.memory_.at(group_.ranks, mine, bytes);
    if (!mine || !at) return std::nullopt;
    SymmetricBuffer out;
    std::ranges::copy(*at, out.on);
    return out;
  }

  SymmetricComms& comms_;
  const CommunicatorGroup group_;
  SymmetricGroup on_;
  CopiedCollectives copied_{on_};
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
  copies_ = can_copy();
}

// Whether all ranks have their own GPUs, whose streams can meet.
bool SymmetricComms::can_copy() {
  SymmetricGroup here{.me = -1};  // of the ranks that this one reaches
  for (int r = 0; r < ranks_.size() && here.members < kMostMembers; ++r) {
    const auto at = memory_.at(std::array{ranks_.rank(), r}, words_.get(), kWordsBytes);
    if (!at) continue;
    if (r == ranks_.rank()) here.me = here.members;
    here.words[here.members++] = reinterpret_cast<MeetingWords*>(at->back());
  }
  const bool can = here.me >= 0 && streams_can_meet(here, release_.stream());
  const std::string place = fmt::format("{}/{}", memory_.host(ranks_.rank()), device_.bus_place());
  return have_own_gpus(ranks_.all_gather(can ? place : ""));
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
  cudaSetDevice(device_.ordinal());  // a new thread begins with device 0
  end_stream_meetings(reinterpret_cast<MeetingWords*>(words_.get()), kMostGroups, release_.stream());
  others_->abort();
}

}  // namespace megalith::cuda
