#include "observe/sinks/tfevents.h"

#include <array>
#include <bit>

#include "observe/sinks/protobuf.h"

namespace megalith::tfevents {

static constexpr std::array<u32, 256> kCrcTable = [] {
  std::array<u32, 256> table{};
  for (u32 i = 0; i < 256; ++i) {
    u32 c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? 0x82F63B78u : 0);
    table[i] = c;
  }
  return table;
}();

u32 crc32c(std::string_view bytes) {
  u32 c = ~0u;
  for (char b : bytes) c = (c >> 8) ^ kCrcTable[(c ^ u8(b)) & 0xff];
  return ~c;
}

u32 masked_crc32c(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xA282EAD8u; }

// Field numbers of tensorboard/compat/proto: event.proto, summary.proto, tensor.proto.
static std::string summary_event(const When& when, const Message& value) {
  Message event;
  event.nonzero(1, when.wall_time);
  if (when.step != 0) event.number(2, u64(when.step));
  return event.bytes(5, Message().bytes(1, value)).take();
}

std::string start_event(double wall_time) {
  return Message()
      .nonzero(1, wall_time)
      .bytes(3, "brain.Event:2")
      .bytes(10, Message().bytes(1, "tensorboard.summary.writer.event_file_writer"))
      .take();
}

std::string scalar_event(const When& when, std::string_view tag, float value) {
  return summary_event(when, Message().bytes(1, tag).fixed(2, value));
}

std::string text_event(const When& when, std::string_view name, std::string_view text) {
  constexpr u64 kString = 7;
  const Message shape = Message().bytes(2, Message().number(1, 1));
  const Message tensor = Message().number(1, kString).bytes(2, shape).bytes(8, text);
  const Message metadata = Message().bytes(1, Message().bytes(1, "text"));
  return summary_event(when,
                       Message().bytes(1, std::string(name) + "/text_summary").bytes(8, tensor).bytes(9, metadata));
}

std::string histogram_event(const When& when, std::string_view tag, const Histogram& h) {
  check(h.limits.size() == h.counts.size(), "histogram {} has {} limits for {} counts: want one for each", tag,
        h.limits.size(), h.counts.size());
  Message histo;
  histo.nonzero(1, h.min).nonzero(2, h.max).nonzero(3, h.num).nonzero(4, h.sum).nonzero(5, h.sum_squares);
  histo.packed(6, h.limits).packed(7, h.counts);
  return summary_event(when, Message().bytes(1, tag).bytes(5, histo));
}

std::string record(std::string_view event) {
  const std::string length = little_endian(u64(event.size()));
  std::string s = length + little_endian(masked_crc32c(length));
  s += event;
  return s + little_endian(masked_crc32c(event));
}

}  // namespace megalith::tfevents
