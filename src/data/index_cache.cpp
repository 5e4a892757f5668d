#include "data/index_cache.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/log.h"
#include "data/md5.h"
#include "data/npy.h"
#include "data/output_file.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json matrix_json(const std::string& split_text) {
  if (split_text.empty()) return nullptr;
  Json matrix = Json::array();
  const SplitMatrix cells = parse_split(split_text);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!cells[i])
      matrix.push_back(nullptr);
    else  // Megatron's first bound is the integer 0
      matrix.push_back({i == 0 ? Json(0) : Json(cells[i]->begin), Json(cells[i]->end)});
  }
  return matrix;
}

Json tokenizer_json(const DataConfig& config) {
  Json tokenizer;
  tokenizer["class"] = "megatron.core.tokenizers.text.text_tokenizer.MegatronTokenizerText";
  tokenizer["tokenizer_path"] = config.tokenizer_path.empty() ? Json(nullptr) : Json(config.tokenizer_path);
  for (const auto& [name, value] : config.tokenizer_arguments) tokenizer[name] = value;
  return tokenizer;
}

template <class T>
std::span<const u8> bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const u8*>(values.data()), values.size() * sizeof(T)};
}
template <class T>
std::span<u8> bytes_of(std::vector<T>& values) {
  return {reinterpret_cast<u8*>(values.data()), values.size() * sizeof(T)};
}

// The files of one index.
class CacheEntry {
 public:
  CacheEntry(const std::string& folder, const std::string& description, Split split)
      : description_(description),
        stem_((fs::path(folder) / fmt::format("{}-GPTDataset-{}-", md5_hex(description), name_of(split))).string()) {}

  // Whether every file is there and none is older than the data.
  bool is_fresh(const std::string& prefix) const {
    std::error_code error;
    const auto data = fs::last_write_time(prefix + ".idx", error);
    if (error) return false;
    const auto fresh = [&](const char* name) {
      std::error_code missing;
      const auto time = fs::last_write_time(stem_ + name, missing);
      return !missing && time >= data;
    };
    return std::ranges::all_of(kFiles, fresh);
  }

  bool load(GptIndex& index) const {
    return load_npy(stem_ + kFiles[1], documents(index), bytes_of(index.documents)) &&
           load_npy(stem_ + kFiles[2], samples(index), bytes_of(index.samples)) &&
           load_npy(stem_ + kFiles[3], shuffle(index), bytes_of(index.shuffle));
  }

  void save(const GptIndex& index) const {
    fs::create_directories(fs::path(stem_).parent_path());
    save_npy(stem_ + kFiles[1], documents(index), bytes_of(index.documents));
    save_npy(stem_ + kFiles[2], samples(index), bytes_of(index.samples));
    save_npy(stem_ + kFiles[3], shuffle(index), bytes_of(index.shuffle));
    OutputFile text(stem_ + kFiles[0], fmt::format(".partial-{}", ::getpid()));
    text.write(description_.data(), description_.size());
    text.close();
    text.publish();
  }

 private:
  static constexpr const char* kFiles[] = {"description.txt", "document_index.npy", "sample_index.npy",
                                           "shuffle_index.npy"};
  static NpyArray documents(const GptIndex& i) { return {"<i4", i64(i.documents.size()), 0}; }
  static NpyArray samples(const GptIndex& i) { return {"<i4", i64(i.samples.size()), 2}; }
  static NpyArray shuffle(const GptIndex& i) { return {"<u4", i64(i.shuffle.size()), 0}; }

  std::string description_, stem_;
};

// Whether an index from disk can be read without leaving the data.
bool fits(const GptIndex& index, const TokenSource& source, const Range& range) {
  const auto in_range = [&](i32 document) { return document >= range.begin && document < range.end; };
  if (!std::ranges::all_of(index.documents, in_range)) return false;
  if (!std::ranges::all_of(index.shuffle, [&](u32 i) { return i64(i) < index.size(); })) return false;
  SamplePosition previous;
  for (const SamplePosition& cut : index.samples) {
    if (cut.entry < previous.entry || cut.entry >= index.documents.size()) return false;
    if (cut.offset < -1 || cut.offset > source.length(index.documents[cut.entry])) return false;
    previous = cut;
  }
  return true;
}

std::optional<GptIndex> load(const CacheEntry& entry, const TokenSource& source, const GptIndexRequest& request) {
  if (!entry.is_fresh(source.name())) return std::nullopt;
  const GptIndexPlan plan = plan_gpt_index(source, request);
  GptIndex index;
  index.documents.resize(std::size_t(plan.epochs * request.sequences.size()));
  index.samples.resize(std::size_t(plan.samples) + 1);
  index.shuffle.resize(std::size_t(plan.samples));
  if (entry.load(index) && fits(index, source, request.sequences)) return index;
  log::warn("a cached index does not fit {}: building it again", source.name());
  return std::nullopt;
}

}  // namespace

std::string index_description(const std::string& prefix, const GptIndexRequest& request, const IndexKey& key) {
  Json json;
  json["class"] = "GPTDataset";
  json["dataset_path"] = prefix;
  json["num_samples"] = request.samples ? Json(*request.samples) : Json(nullptr);
  json["index_split"] = name_of(key.split);
  json["random_seed"] = request.seed;
  json["sequence_length"] = request.seq_length;
  json["split"] = key.split_text.empty() ? Json(nullptr) : Json(key.split_text);
  json["split_matrix"] = matrix_json(key.split_text);
  json["tokenizer"] = tokenizer_json(key.config);
  return json.dump(4, ' ', true, Json::error_handler_t::replace);
}

GptIndex load_or_build_index(const TokenSource& source, const GptIndexRequest& request, const IndexKey& key) {
  if (key.config.data_cache_path.empty() || key.config.mock_data) return build_gpt_index(source, request);
  const CacheEntry entry(key.config.data_cache_path, index_description(source.name(), request, key), key.split);
  if (std::optional<GptIndex> index = load(entry, source, request)) return std::move(*index);
  GptIndex index = build_gpt_index(source, request);
  if (index.documents.size() > std::size_t(std::numeric_limits<i32>::max())) return index;  // entries do not fit <i4
  try {
    entry.save(index);
  } catch (const std::exception& e) {
    log::warn("the index of {} is not kept: {}", source.name(), e.what());
  }
  return index;
}

}  // namespace megalith
