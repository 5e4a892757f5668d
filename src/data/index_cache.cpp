#include "data/index_cache.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/log.h"
#include "base/one_line.h"
#include "data/cached_files.h"
#include "data/npy.h"

namespace megalith {
namespace {

// The arrays of a GPT index on disk.
struct GptArrays {
  NpyArray documents, cuts, shuffle;
  GptArrays(const GptIndexPlan& plan, const GptIndexRequest& request)
      : documents{"<i4", plan.epochs * request.sequences.size(), 0},
        cuts{"<i4", plan.samples + 1, 2},
        shuffle{"<u4", plan.samples, 0} {}
};

// Whether all entries of an index from disk are inside the data.
bool fits(const GptIndex& index, const TokenSource& source, const Range& range) {
  const auto in_range = [&](i32 document) { return document >= range.begin && document < range.end; };
  if (!std::ranges::all_of(index.documents.all(), in_range)) return false;
  if (!std::ranges::all_of(index.shuffle.all(), [&](u32 i) { return i64(i) < index.size(); })) return false;
  SamplePosition previous;
  for (const SamplePosition& cut : index.cuts.all()) {
    if (cut.entry < previous.entry || i64(cut.entry) >= index.documents.size()) return false;
    if (cut.offset < -1 || cut.offset > source.length(index.documents[cut.entry])) return false;
    previous = cut;
  }
  return true;
}

template <class T>
StoredArray<T> stored(const std::shared_ptr<const MappedFile>& file, const NpyArray& array) {
  return StoredArray<T>(file, i64(npy_header(array).size()));
}

std::optional<GptIndex> load(const CachedFiles& files, const GptArrays& arrays) {
  const auto documents = map_npy(files.path("document_index"), arrays.documents);
  const auto cuts = map_npy(files.path("sample_index"), arrays.cuts);
  const auto shuffle = map_npy(files.path("shuffle_index"), arrays.shuffle);
  if (!documents || !cuts || !shuffle) return std::nullopt;
  return GptIndex{.documents = stored<i32>(documents, arrays.documents),
                  .cuts = stored<SamplePosition>(cuts, arrays.cuts),
                  .cut_stride = 1,
                  .shuffle = stored<u32>(shuffle, arrays.shuffle)};
}

// Writes the full sample index, computed from the few cuts of an index in memory.
void save_cuts(const std::string& path, const NpyArray& array, const SampleStream& stream) {
  NpyWriter file(path, array);
  SampleCutter cutter(stream, {0, 0}, SampleCutter::kMostAhead);
  std::vector<SamplePosition> part;
  for (i64 k = 0; k < array.rows; ++k) {
    if (k > 0) cutter.skip(1);
    part.push_back(cutter.cut());
    if (part.size() < 65536 && k + 1 < array.rows) continue;
    file.write(std::span<const SamplePosition>(part));
    part.clear();
  }
  file.finish();
}

void save(const GptIndex& index, const CachedFiles& files, const GptArrays& arrays, const SampleStream& stream) {
  files.make_folder();
  save_npy(files.path("document_index"), arrays.documents, index.documents.all());
  save_cuts(files.path("sample_index"), arrays.cuts, stream);
  save_npy(files.path("shuffle_index"), arrays.shuffle, index.shuffle.all());
  files.save_description();
}

std::optional<BlendIndex> load_blend(const BlendPlan& plan, const CachedFiles& files, const NpyArray& datasets,
                                     const NpyArray& samples) {
  const auto first = map_npy(files.path("dataset_index"), datasets);
  const auto second = map_npy(files.path("dataset_sample_index"), samples);
  if (!first || !second) return std::nullopt;
  return BlendIndex::from_files(plan, stored<std::int16_t>(first, datasets), stored<i64>(second, samples));
}

BlendIndex build_and_save_blend(const BlendPlan& plan, const CachedFiles& files, const NpyArray& datasets,
                                const NpyArray& samples) {
  constexpr std::size_t kPart = 65536;
  files.make_folder();
  NpyWriter dataset_file(files.path("dataset_index"), datasets);
  NpyWriter sample_file(files.path("dataset_sample_index"), samples);
  std::vector<std::int16_t> dataset_part;
  std::vector<i64> sample_part;
  const auto write = [&] {
    dataset_file.write(std::span<const std::int16_t>(dataset_part));
    sample_file.write(std::span<const i64>(sample_part));
    dataset_part.clear(), sample_part.clear();
  };
  BlendIndex index(plan, [&](const BlendedSample& s) {
    dataset_part.push_back(s.dataset), sample_part.push_back(s.sample);
    if (sample_part.size() == kPart) write();
  });
  write();
  dataset_file.finish(), sample_file.finish();
  files.save_description();
  return index;
}

}  // namespace

GptIndex load_or_build_index(const TokenSource& source, const GptIndexRequest& request, const IndexKey& key) {
  if (key.config.data_cache_path.empty() || key.config.mock_data) return build_gpt_index(source, request);
  const GptArrays arrays(plan_gpt_index(source, request), request);
  if (arrays.documents.rows > std::numeric_limits<i32>::max()) {
    log::warn("the index of {} is not kept: it has {} documents, more than an <i4 file can number", source.name(),
              arrays.documents.rows);
    return build_gpt_index(source, request);
  }
  const CachedFiles files(key.config.data_cache_path, fmt::format("GPTDataset-{}", name_of(key.split)),
                          gpt_description(source.name(), request, key),
                          {"document_index", "sample_index", "shuffle_index"});
  if (files.are_fresh({source.name()})) {
    std::optional<GptIndex> index = load(files, arrays);
    if (index && fits(*index, source, request.sequences)) return std::move(*index);
    log::warn("a cached index does not fit {}: building it again", source.name());
  }
  GptIndex index = build_gpt_index(source, request);
  try {
    save(index, files, arrays, {source, index.documents.all(), request.seq_length, request.add_extra_token});
    if (std::optional<GptIndex> mapped = load(files, arrays)) return std::move(*mapped);
  } catch (const std::exception& e) {
    log::warn("the index of {} is not kept: {}", source.name(), one_line(e));
  }
  return index;
}

BlendIndex load_or_build_blend(const BlendPlan& plan, const nlohmann::ordered_json& description,
                               const std::vector<std::string>& prefixes, const IndexKey& key) {
  const CachedFiles files(key.config.data_cache_path, fmt::format("BlendedDataset-{}", name_of(key.split)), description,
                          {"dataset_index", "dataset_sample_index"});
  const NpyArray datasets{"<i2", plan.size, 0}, samples{"<i8", plan.size, 0};
  if (files.are_fresh(prefixes)) {
    if (std::optional<BlendIndex> index = load_blend(plan, files, datasets, samples)) return std::move(*index);
    log::warn("a cached blend of {} datasets does not fit them: building it again", prefixes.size());
  }
  try {
    return build_and_save_blend(plan, files, datasets, samples);
  } catch (const std::exception& e) {
    log::warn("the index of the blend is not kept: {}", one_line(e));
    return {plan, [](const BlendedSample&) {}};
  }
}

}  // namespace megalith
