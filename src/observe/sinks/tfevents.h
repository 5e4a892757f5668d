// TensorBoard's event records as bytes. A record is u64 length, u32 checksum of the length, the event, u32 checksum of
// the event, all little endian; an event is a protobuf message of the few fields below, encoded here by hand: field
// numbers ascending, fields at their default left out, but not the value of a scalar (it is in a oneof).
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace megalith::tfevents {

// Where an event belongs: seconds since 1970 and the step it is drawn at.
struct When {
  double wall_time = 0;
  i64 step = 0;
};

// Bucket i holds the values up to limits[i] and above limits[i - 1]; both spans are equally long.
struct Histogram {
  double min = 0, max = 0, num = 0, sum = 0, sum_squares = 0;
  std::span<const double> limits, counts;
};

// Each gives one event, unframed.
std::string start_event(double wall_time);  // the first of every file
std::string scalar_event(const When& when, std::string_view tag, float value);
std::string text_event(const When& when, std::string_view name,
                       std::string_view text);  // shown as Markdown under NAME/text_summary
std::string histogram_event(const When& when, std::string_view tag, const Histogram& histogram);

std::string record(std::string_view event);  // with lengths and checksums

u32 crc32c(std::string_view bytes);         // Castagnoli, as in iSCSI (RFC 3720): "123456789" gives E3069283
u32 masked_crc32c(std::string_view bytes);  // rotated and shifted, so that checksums of checksums are not degenerate

}  // namespace megalith::tfevents
