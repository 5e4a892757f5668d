// Our own format as one of several.
#include <fmt/format.h>

#include <algorithm>

#include "base/read_error.h"
#include "ckpt/formats.h"
#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/native/native_tensors.h"

namespace megalith {
namespace {

AnyCheckpoint open_native(const CheckpointPlace& place, const AnyOpenOptions& options) {
  Checkpoint checkpoint = open_checkpoint(place.asked, {.iteration = options.iteration,
                                                        .verify = options.verify,
                                                        .no_later_than = options.no_later_than,
                                                        .whole = options.whole,
                                                        .past_cache = options.past_cache,
                                                        .tells = options.tells,
                                                        .or_older = options.or_older});
  AnyCheckpoint c{.format = CkptFormat::native, .path = checkpoint.path(), .manifest = checkpoint.manifest()};
  c.passed_over = checkpoint.passed_over();
  read_origin(c.manifest.state_json, c);
  c.tensors = read_native_files(std::move(checkpoint));
  return c;
}

void look_into_native(const CheckpointPlace& place, const AnyOpenOptions& options, RawCheckpoint& raw) {
  Checkpoint checkpoint =
      open_checkpoint(place.asked, {.iteration = options.iteration, .whole = false, .or_older = false});
  raw.path = checkpoint.path();
  for (const CheckpointTensor& t : checkpoint.tensors()) {
    raw.parts.push_back(i64(t.blocks.size()));
    i64& held = raw.held.emplace_back(0);
    for (const TensorBlock& b : t.blocks) held += count(b.shape);
  }
  const std::string sums = read_text(raw.path + "/" + kChecksumFile);
  raw.checksums = fmt::format("xxh64 of {} files", std::ranges::count(sums, '\n'));
  raw.tensors = read_native_files(std::move(checkpoint));
}

}  // namespace

const FormatWays kNativeWays = {open_native, look_into_native};

}  // namespace megalith
