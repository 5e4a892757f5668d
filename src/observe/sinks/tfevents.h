// Encodes TensorBoard's event records. A record is u64 length, u32 checksum of the length, the event, u32 checksum of
// the event, all little-endian. An event is a protobuf message with the few fields below, in ascending order. Fields
// with their default value are omitted, except the value of a scalar, which is in a oneof.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace megalith::tfevents {

// The position of an event: seconds since 1970, and its step.
struct When {
  double wall_time = 0;
  i64 step = 0;
};

// Bucket i holds the values v with limits[i - 1] < v <= limits[i]; both arrays have the same length.
struct Histogram {
  double min = 0, max = 0, num = 0, sum = 0, sum_squares = 0;
  std::span<const double> limits, counts;
};

// Each function encodes one event, without frame.
std::string start_event(double wall_time);  // the first event of each file
std::string scalar_event(const When& when, std::string_view tag, float value);
std::string text_event(const When& when, std::string_view name,
                       std::string_view text);  // shown as Markdown under NAME/text_summary
std::string histogram_event(const When& when, std::string_view tag, const Histogram& histogram);

std::string record(std::string_view event);  // adds lengths and checksums

u32 crc32c(std::string_view bytes);         // CRC-32C, as in iSCSI (RFC 3720): "123456789" gives E3069283
u32 masked_crc32c(std::string_view bytes);  // rotated and shifted, so that checksums of checksums are not degenerate

}  // namespace megalith::tfevents
