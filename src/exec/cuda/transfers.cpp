#include "exec/cuda/transfers.h"

namespace megalith::cuda {

CommunicatorGroup link_of(int from, int to, int channel) { return {CommunicatorGroup::link, channel, {from, to}}; }

Transfers::~Transfers() {
  for (auto& [group, link] : links_) cudaStreamSynchronize(link.lane.stream());
}

int Transfers::self() const {
  check(peers_ != nullptr, "a transfer between pipeline stages on a single rank");
  return peers_->ranks.rank();
}

Transfers::Link& Transfers::link(int from, int to, int channel) {
  const CommunicatorGroup group = link_of(from, to, channel);
  auto it = links_.find(group);
  if (it != links_.end()) return it->second;
  Comm& comm = peers_->comms.at(group);
  const int transfer = peers_->watch.add(
      fmt::format("{} on channel {} between stages, {}", from == self() ? "send" : "receive", channel, group.text()));
  return links_.try_emplace(group, &comm, transfer).first->second;
}

int Transfers::send(const std::byte* data, i64 bytes, int peer, int channel) {
  const Message message{1, const_cast<std::byte*>(data), bytes};
  return start(link(self(), peer, channel), {&message, 1}, {});
}

int Transfers::receive(std::byte* data, i64 bytes, int peer, int channel) {
  const Message message{0, data, bytes};
  return start(link(peer, self(), channel), {}, {&message, 1});
}

int Transfers::start(Link& link, std::span<const Message> sends, std::span<const Message> receives) {
  link.lane.fork_from(device_.stream());
  peers_->watch.begin(link.transfer, link.lane.stream());
  link.comm->exchange(sends, receives, link.lane.stream());
  peers_->watch.end(link.transfer, link.lane.stream());
  if (spare_.empty()) spare_.push_back(make_event());
  Event done = std::move(spare_.back());
  spare_.pop_back();
  check_cuda(cudaEventRecord(done.get(), link.lane.stream()), "a transfer between stages");
  open_[++tickets_] = std::move(done);
  return tickets_;
}

void Transfers::join(int ticket) {
  const auto it = open_.find(ticket);
  check(it != open_.end(), "a transfer between stages is waited for twice");
  check_cuda(cudaStreamWaitEvent(device_.stream(), it->second.get()), "a transfer between stages");
  spare_.push_back(std::move(it->second));
  open_.erase(it);
}

}  // namespace megalith::cuda
