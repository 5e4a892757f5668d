#include "comm/data_link.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace megalith {
namespace {

constexpr size_t kInBytes = 4 * size_t(kLargestWhole);

bool has_bytes(const DataHeader& h) { return h.kind == DataHeader::hello || h.kind == DataHeader::whole; }

}  // namespace

void DataLink::send(const DataHeader& h, const void* bytes, int ticket) { out_.push_back({h, bytes, ticket}); }

// As many messages in one call as there are, each a header and its bytes. Of large ones at most a chunk at a time.
void DataLink::write(std::vector<int>& left) {
  while (!out_.empty() && !is_closed_) {
    iovec parts[32];
    size_t n = 0;
    u64 skip = written_;
    for (size_t i = 0; i < out_.size() && n + 2 <= std::size(parts); ++i) {
      const auto add = [&](const void* data, u64 bytes) {
        const u64 skipped = std::min(skip, bytes);
        skip -= skipped;
        if (bytes == skipped) return;
        const u64 now = std::min(bytes - skipped, chunk_);
        parts[n++] = {const_cast<char*>(static_cast<const char*>(data)) + skipped, now};
      };
      add(&out_[i].header, sizeof(DataHeader));
      if (out_[i].bytes) add(out_[i].bytes, out_[i].header.bytes);
      if (out_[i].size() > chunk_) break;  // a message after it would overtake its unsent bytes
    }
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = n;
    const ssize_t sent = sendmsg(fd(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (sent < 0) {
      is_closed_ = true;
      return;
    }
    written_ += u64(sent);
    while (!out_.empty() && written_ >= out_.front().size()) {
      written_ -= out_.front().size();
      if (out_.front().ticket >= 0) left.push_back(out_.front().ticket);
      out_.pop_front();
    }
  }
}

// Stop when a read returns less than it could: the socket is empty for now.
void DataLink::read(Taker& taker) {
  constexpr int kReads = 64;  // then the others' turn has come
  for (int k = 0; k < kReads && !is_closed_; ++k) {
    if (body_left_ > 0) {
      if (!read_body(taker)) return;
    } else {
      const bool was_full = read_some();
      take_messages(taker);
      if (!was_full && body_left_ == 0) return;
    }
  }
}

bool DataLink::read_body(Taker& taker) {
  const u64 room = std::min(body_left_, chunk_), n = receive(body_, room);
  body_ += n;
  body_left_ -= n;
  if (n > 0 && body_left_ == 0) taker.placed(arriving_);
  return n == room;
}

bool DataLink::read_some() {
  if (in_.empty()) in_.resize(kInBytes);
  if (begin_ > 0) {
    std::memmove(in_.data(), in_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  const size_t room = in_.size() - end_, n = receive(in_.data() + end_, room);
  end_ += n;
  return n == room;
}

u64 DataLink::receive(void* to, u64 bytes) {
  while (true) {
    const ssize_t n = recv(fd(), to, bytes, 0);
    if (n > 0) return u64(n);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) is_closed_ = true;
    return 0;
  }
}

void DataLink::take_messages(Taker& taker) {
  DataHeader h;
  while (end_ - begin_ >= sizeof h && !is_closed_) {
    std::memcpy(&h, in_.data() + begin_, sizeof h);
    const std::byte* bytes = in_.data() + begin_ + sizeof h;
    const size_t here = end_ - begin_ - sizeof h;
    if (h.kind == DataHeader::body) {
      const size_t now = size_t(std::min<u64>(here, h.bytes));
      arriving_ = h;
      body_ = taker.place(h);
      std::memcpy(body_, bytes, now);
      body_ += now;
      body_left_ = h.bytes - now;
      begin_ += sizeof h + now;
      if (body_left_ > 0) return;
      taker.placed(h);
      continue;
    }
    const u64 size = has_bytes(h) ? h.bytes : 0;
    if (size > u64(kLargestWhole)) is_closed_ = true;  // no rank of ours
    if (is_closed_ || here < size) return;
    begin_ += sizeof h + size_t(size);
    taker.take(h, bytes);
  }
}

}  // namespace megalith
