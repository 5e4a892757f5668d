#include "data/sentence_map_cache.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/one_line.h"
#include "data/cached_files.h"
#include "data/npy.h"

namespace megalith {
namespace {

constexpr const char* kArray = "spans";

nlohmann::ordered_json description_of(const TokenSource& sentences, const std::vector<i64>& begins,
                                      const SentenceMapRequest& r) {
  return {{"class", "SentenceMap"},
          {"dataset_path", sentences.name()},
          {"documents", i64(begins.size()) - 1},
          {"first_sentence", begins.front()},
          {"end_sentence", begins.back()},
          {"num_samples", r.samples ? nlohmann::ordered_json(*r.samples) : nlohmann::ordered_json()},
          {"max_length", r.max_length},
          {"short_probability", r.short_probability},
          {"random_seed", r.seed},
          {"min_sentences", r.min_sentences}};
}

bool fits(std::span<const SentenceSpan> spans, const std::vector<i64>& begins, const SentenceMapRequest& r) {
  if (r.samples && i64(spans.size()) < *r.samples) return false;
  return std::ranges::all_of(spans, [&](const SentenceSpan& s) {
    return i64(s.begin) >= begins.front() && s.begin < s.end && i64(s.end) <= begins.back() && s.target > 0 &&
           i64(s.target) <= r.max_length;
  });
}

// The file's size gives the number of samples.
std::shared_ptr<const MappedFile> map_spans(const std::string& path, NpyArray& array) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  if (error) return nullptr;
  array.rows = std::max<i64>(0, i64(bytes) - i64(npy_header(array).size())) / i64(sizeof(SentenceSpan));
  return map_npy(path, array);
}

std::optional<StoredArray<SentenceSpan>> load(const CachedFiles& files) {
  NpyArray array{"<u4", 1, 3};
  const auto file = map_spans(files.path(kArray), array);
  if (!file) return std::nullopt;
  return StoredArray<SentenceSpan>(file, i64(npy_header(array).size()));
}

}  // namespace

StoredArray<SentenceSpan> load_or_build_sentence_map(const TokenSource& sentences, const std::vector<i64>& begins,
                                                     const SentenceMapRequest& request, const std::string& folder) {
  if (folder.empty()) return build_sentence_map(sentences, begins, request);
  const CachedFiles files(folder, "SentenceMap", description_of(sentences, begins, request), {kArray});
  if (files.are_fresh({sentences.name()})) {
    std::optional<StoredArray<SentenceSpan>> map = load(files);
    if (map && fits(map->all(), begins, request)) return std::move(*map);
    log::warn("a cached map of sentences does not fit {}: building it again", sentences.name());
  }
  StoredArray<SentenceSpan> map = build_sentence_map(sentences, begins, request);
  try {
    files.make_folder();
    save_npy(files.path(kArray), {"<u4", map.size(), 3}, map.all());
    files.save_description();
    if (auto mapped = load(files)) return std::move(*mapped);
  } catch (const std::exception& e) {
    log::warn("the map of sentences of {} is not kept: {}", sentences.name(), one_line(e));
  }
  return map;
}

}  // namespace megalith
