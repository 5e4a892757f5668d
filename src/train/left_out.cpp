#include "train/left_out.h"

#include "base/log.h"
#include "ckpt/tensors/files.h"
#include "comm/on_all_ranks.h"

namespace megalith {

std::shared_ptr<const SampleRanges> samples_left_out(const Options& o, Ranks& ranks) {
  const std::string& path = o.train.skip_samples;
  if (path.empty()) return nullptr;
  std::string text;
  const std::string name = "--skip-samples " + path;
  on_all_ranks(ranks, [&] {
    if (ranks.rank() != 0) return;
    text = read_text(path);
    SampleRanges::parse(text, name);
  });
  const auto all = std::make_shared<const SampleRanges>(SampleRanges::parse(ranks.all_gather(text)[0], name));
  if (all->empty()) log::warn("{}: it names no sample", name);
  return all->empty() ? nullptr : all;
}

std::string left_out_line(const SampleRanges* left_out, i64 iteration, i64 begin, i64 end) {
  const i64 count = left_out ? left_out->count(begin, end) : 0;
  if (count == 0) return {};
  return fmt::format("  iteration {}: {} of its {} samples {} left out (--skip-samples): {}", iteration, count,
                     end - begin, count == 1 ? "is" : "are", left_out->text(begin, end));
}

}  // namespace megalith
