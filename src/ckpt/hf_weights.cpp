#include "ckpt/hf_weights.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/check.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

const TensorInfo* find_tensor(const TensorFiles& files, const HfMapping& mapping, const std::string& name) {
  for (const std::string& spelling : spellings(mapping, name))
    if (const TensorInfo* t = files.find(spelling)) return t;
  return nullptr;
}

// A tied model's files may repeat the embedding as the head; another head would be lost silently.
bool is_repeated_head(const TensorFiles& files, const HfMapping& mapping, const TensorInfo& t) {
  if (find_tensor(files, mapping, mapping.head) != &t) return false;
  const TensorInfo* embedding = find_tensor(files, mapping, mapping.embedding);
  const bool same = embedding != nullptr && embedding->stored_type == t.stored_type && embedding->shape == t.shape &&
                    std::ranges::equal(files.raw(*embedding), files.raw(t));
  check(same,
        "[hf] {}: tie_word_embeddings is true, but {} differs from {}; set it to false in config.json if the head is "
        "meant",
        t.file, t.name, mapping.embedding);
  return true;
}

// All tensors of the files under the mapping's names, without those that carry no weights.
std::vector<NamedShape> found_tensors(const TensorFiles& files, const HfMapping& mapping) {
  std::unordered_map<std::string, std::string> name_of_spelling;
  for (const NamedShape& t : mapping.theirs)
    for (const std::string& spelling : spellings(mapping, t.name)) name_of_spelling.emplace(spelling, t.name);
  std::set<std::string> used;  // a second spelling of the same tensor is unexpected
  std::vector<NamedShape> found;
  for (const TensorInfo& t : files.tensors()) {
    const auto known = name_of_spelling.find(t.name);
    if (known != name_of_spelling.end() && used.insert(known->second).second)
      found.push_back({known->second, t.shape});
    else if (!is_ignored_buffer("." + t.name) && !is_repeated_head(files, mapping, t))
      found.push_back({t.name, t.shape});
  }
  return found;
}

std::optional<TensorView> find_view(const HfMapping& mapping, const HfSource& source, const std::string& name) {
  for (const std::string& spelling : spellings(mapping, name))
    if (auto view = source(spelling)) return view;
  return std::nullopt;
}

// Links by the tensor they fill: index lists parallel to HfMapping::theirs or ::ours.
std::vector<std::vector<const TensorLink*>> group_links(const HfMapping& mapping, std::size_t n,
                                                        std::size_t TensorLink::*key) {
  std::vector<std::vector<const TensorLink*>> groups(n);
  for (const TensorLink& link : mapping.links) groups[link.*key].push_back(&link);
  return groups;
}

struct Shard {
  std::string file;
  std::vector<std::size_t> tensors;  // indices into the reader's list
};

i64 bytes_of(const TensorSpec& t) { return count(t.shape) * size_of(t.dtype); }

std::vector<Shard> cut_shards(const TensorReader& tensors, i64 max_bytes) {
  std::vector<Shard> shards(1);
  i64 bytes = 0;
  for (std::size_t i = 0; i < tensors.tensors().size(); ++i) {
    const i64 n = bytes_of(tensors.tensors()[i]);
    if (bytes > 0 && bytes + n > max_bytes) shards.emplace_back(), bytes = 0;
    shards.back().tensors.push_back(i);
    bytes += n;
  }
  for (std::size_t k = 0; k < shards.size(); ++k)
    shards[k].file = shards.size() == 1 ? "model.safetensors"
                                        : fmt::format("model-{:05}-of-{:05}.safetensors", k + 1, shards.size());
  return shards;
}

std::string format_index(const TensorReader& tensors, std::span<const Shard> shards) {
  nlohmann::json map = nlohmann::json::object();
  i64 elements = 0, bytes = 0;
  for (const Shard& shard : shards)
    for (const std::size_t i : shard.tensors) {
      const TensorSpec& t = tensors.tensors()[i];
      map[t.name] = shard.file;
      elements += count(t.shape), bytes += bytes_of(t);
    }
  const nlohmann::json index = {{"metadata", {{"total_parameters", elements}, {"total_size", bytes}}},
                                {"weight_map", map}};
  return index.dump(2) + "\n";
}

void write_shard(const std::string& path, const TensorReader& tensors, const Shard& shard) {
  std::vector<TensorSpec> specs;
  for (const std::size_t i : shard.tensors) specs.push_back(tensors.tensors()[i]);
  SafetensorsWriter writer(path, std::move(specs));
  std::vector<std::byte> piece;
  for (const TensorSpec& t : writer.tensors())
    for_pieces(count(t.shape), [&](i64 begin, i64 n) {
      piece.resize(std::size_t(n * size_of(t.dtype)));
      tensors.read_range(tensors.at(t.name), begin, n, piece.data());
      writer.write(piece);
    });
  writer.finish();
}

void refuse_existing_model(const std::string& dir) {
  for (const auto& entry : fs::directory_iterator(dir)) {
    const std::string name = entry.path().filename().string();
    const bool model =
        name == "config.json" || name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json");
    check(!model, "[hf] {} already holds {}; choose another directory or remove it", dir, name);
  }
}

}  // namespace

void import_hf(const HfMapping& mapping, const HfSource& source, const std::string& where, const LogicalSink& sink) {
  std::vector<TensorView> views;
  std::vector<NamedShape> found;
  for (const NamedShape& t : mapping.theirs) {
    const auto view = find_view(mapping, source, t.name);
    if (view) found.push_back({t.name, view->shape});
    views.push_back(view.value_or(TensorView{}));
  }
  check_same_tensors(where, mapping.theirs, found);
  for (std::size_t i = 0; i < views.size(); ++i)
    check(is_float(views[i].dtype), "{}: tensor \"{}\" has type {}: want a floating-point type", where,
          mapping.theirs[i].name, name_of(views[i].dtype));
  const auto groups = group_links(mapping, mapping.ours.size(), &TensorLink::ours);
  std::vector<float> values;
  for (std::size_t i = 0; i < mapping.ours.size(); ++i) {
    const NamedShape& t = mapping.ours[i];
    values.resize(std::size_t(count(t.shape)));
    for (const TensorLink* link : groups[i])
      unpack(link->block, views[link->theirs].dtype, views[link->theirs].data, values.data());
    sink(t.name, t.shape, values);
  }
}

void check_hf_tensors(const TensorFiles& files, const HfMapping& mapping, const std::string& where) {
  check_same_tensors(where, mapping.theirs, found_tensors(files, mapping));
}

void import_hf(const std::string& dir, const HfConfig& config, const LogicalSink& sink) {
  const HfMapping mapping = hf_mapping(config.family, config.model);
  const TensorFiles files = TensorFiles::open_directory(dir);
  const std::string where = "[hf] " + files.where();
  check_hf_tensors(files, mapping, where);
  import_hf(
      mapping, [&](const std::string& name) { return files.view(name); }, where, sink);
}

void export_hf_as_is(const std::string& dir, const std::string& config_json, const TensorReader& tensors,
                     const HfExportOptions& options) {
  make_directories(dir, {});
  refuse_existing_model(dir);
  const auto shards = cut_shards(tensors, options.max_shard_bytes);
  for (const Shard& shard : shards) {
    const std::string path = dir + "/" + shard.file;
    try {
      write_shard(path + ".tmp", tensors, shard);
    } catch (const std::exception&) {
      std::error_code ignored;
      fs::remove(path + ".tmp", ignored);
      throw;
    }
    rename_path(path + ".tmp", path, {});
  }
  if (shards.size() > 1) replace_text(dir + "/model.safetensors.index.json", format_index(tensors, shards), {});
  replace_text(dir + "/config.json", config_json, {});
}

void export_hf(const std::string& dir, const HfConfig& config, std::shared_ptr<const TensorReader> logical,
               const HfExportOptions& options) {
  const std::string text = write_hf_config(config);
  const MappedTensors theirs(std::move(logical), hf_mapping(config.family, config.model), MapTo::theirs,
                             {.type = options.type});
  export_hf_as_is(dir, text, theirs, options);
}

}  // namespace megalith
