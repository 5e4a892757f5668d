#include "comm/slot_client.h"

#include <algorithm>
#include <atomic>

#include "base/check.h"
#include "base/in_parallel.h"
#include "comm/member.h"

namespace megalith {

constexpr double kSlotSeconds = 20;  // without any byte

SlotLink::SlotLink(const SlotServerPlace& to) {
  constexpr double kConnectSeconds = 3;
  const bool is_near = Member::self(0).network == to.network;
  for (const std::string& address : is_near ? std::vector<std::string>{"127.0.0.1"} : to.addresses) {
    std::string why;
    socket_ = connect_to(address, to.key.port, kConnectSeconds, why);
    to_ += fmt::format("{}{} port {}{}", to_.empty() ? "" : ", ", address, to.key.port, socket_ ? "" : ": " + why);
    if (!socket_) continue;
    to_ = fmt::format("{} port {}", address, to.key.port);
    if (send_all(socket_, std::as_bytes(std::span(to.key.token)), kSlotSeconds)) return;
  }
  fail("cannot reach the agent of another node for its snapshots ({}): allow TCP connections between these hosts", to_);
}

SlotAnswer SlotLink::ask(const SlotRequest& request, std::span<const std::byte> bytes) {
  SlotAnswer answer;
  check(send_all(socket_, std::as_bytes(std::span(&request, 1)), kSlotSeconds) &&
            send_all(socket_, bytes, kSlotSeconds) &&
            receive_all(socket_, std::as_writable_bytes(std::span(&answer, 1)), kSlotSeconds),
        "the agent at {} is gone, with the snapshots that it held", to_);
  check(answer.bytes >= 0, "the agent at {} did not {} {} bytes of a snapshot", to_,
        request.kind == SlotRequest::read ? "give" : "take", request.bytes);
  return answer;
}

void SlotLink::read(int file, i64 at, std::span<std::byte> out) {
  while (!out.empty()) {
    const auto part = out.first(std::min(out.size(), size_t(kMostSlotBytes)));
    const SlotAnswer a = ask({.kind = SlotRequest::read, .file = file, .at = at, .bytes = i64(part.size())});
    check(a.bytes == i64(part.size()) && receive_all(socket_, part, kSlotSeconds) && sum_of(part) == a.sum,
          "the agent at {} sent other bytes than its snapshot has", to_);
    out = out.subspan(part.size()), at += i64(part.size());
  }
}

void SlotLink::write(int file, i64 at, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), size_t(kMostSlotBytes)));
    ask({.kind = SlotRequest::write, .file = file, .at = at, .bytes = i64(part.size()), .sum = sum_of(part)}, part);
    bytes = bytes.subspan(part.size()), at += i64(part.size());
  }
}

int SlotLink::copies_of(int rank) { return int(ask({.kind = SlotRequest::copies_of, .at = rank}).file); }

void write_over(std::span<SlotLink> links, int file, i64 at, std::span<const std::byte> bytes) {
  constexpr size_t kPart = size_t{1} << 22;  // stays in caches of both hosts
  std::atomic<size_t> next = 0;
  in_parallel(int(links.size()), [&](int i) {
    try {
      for (size_t begin; (begin = next.fetch_add(kPart)) < bytes.size();)
        links[size_t(i)].write(file, at + i64(begin), bytes.subspan(begin, std::min(kPart, bytes.size() - begin)));
    } catch (...) {
      next = bytes.size();
      throw;
    }
  });
}

void FarSlot::read(i64 at, std::span<std::byte> out) const {
  std::unique_ptr<SlotLink> link;
  if (const std::lock_guard hold(lock_); !idle_.empty()) link = std::move(idle_.back()), idle_.pop_back();
  if (!link) link = std::make_unique<SlotLink>(server_);
  link->read(file_, at, out);
  const std::lock_guard hold(lock_);
  idle_.push_back(std::move(link));
}

}  // namespace megalith
