#include "ckpt/hf/hf_weights.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "ckpt/hf/hf_mapping.h"
#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/tensors/mapped_tensors.h"
#include "ckpt/tensors/tensor_store.h"
#include "mesh/block_copy.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

const TensorInfo* find_spelled(const TensorFiles& files, const HfMapping& mapping, const std::string& name) {
  for (const std::string& spelling : spellings(mapping, name))
    if (const TensorInfo* t = files.find(spelling)) return t;
  return nullptr;
}

bool is_tied(const HfMapping& mapping) {
  return std::ranges::none_of(mapping.theirs, [&](const NamedShape& t) { return t.name == mapping.head; });
}

// Of a tied embedding a writer keeps one name: where it is the head's, that tensor is the embedding.
const TensorInfo* find_tensor(const TensorFiles& files, const HfMapping& mapping, const std::string& name) {
  const TensorInfo* t = find_spelled(files, mapping, name);
  const bool may_be_head = t == nullptr && name == mapping.embedding && is_tied(mapping);
  return may_be_head ? find_spelled(files, mapping, mapping.head) : t;
}

bool same_bytes(const TensorFiles& files, const TensorInfo& a, const TensorInfo& b) {
  constexpr i64 kPiece = i64{4} << 20;
  std::vector<std::byte> ours, others;
  for (i64 at = 0; at < a.bytes; at += kPiece) {
    ours.resize(std::size_t(std::min(kPiece, a.bytes - at))), others.resize(ours.size());
    files.read(a, at, ours), files.read(b, at, others);
    if (ours != others) return false;
  }
  return true;
}

// A tied model's files may repeat the embedding as the head; another head would be lost silently.
bool is_repeated_head(const TensorFiles& files, const HfMapping& mapping, const TensorInfo& t) {
  if (find_tensor(files, mapping, mapping.head) != &t) return false;
  const TensorInfo* embedding = find_tensor(files, mapping, mapping.embedding);
  const bool same = embedding != nullptr && embedding->stored_type == t.stored_type && embedding->shape == t.shape &&
                    same_bytes(files, *embedding, t);
  check(same,
        "[hf] {}: tie_word_embeddings is true, but {} differs from {}; set it to false in config.json if the head is "
        "meant",
        t.file, t.name, mapping.embedding);
  return true;
}

// All tensors of the files under the mapping's names, without tensors that are no weights.
std::vector<NamedShape> found_tensors(const TensorFiles& files, const HfMapping& mapping, bool quantized) {
  std::unordered_map<std::string, std::string> name_of_spelling;
  for (const NamedShape& t : mapping.theirs)
    for (const std::string& spelling : spellings(mapping, t.name)) name_of_spelling.emplace(spelling, t.name);
  if (const TensorInfo* t = find_tensor(files, mapping, mapping.embedding))
    name_of_spelling.emplace(t->name, mapping.embedding);
  std::set<std::string> used;  // a second spelling of the same tensor is unexpected
  std::vector<NamedShape> found;
  for (const TensorInfo& t : files.tensors()) {
    if (quantized && t.name.ends_with(kFp8Scale)) continue;  // which read_fp8_weights accounts for
    const auto known = name_of_spelling.find(t.name);
    if (known != name_of_spelling.end() && used.insert(known->second).second)
      found.push_back({known->second, t.shape});
    else if (!is_ignored_buffer("." + t.name) && !is_repeated_head(files, mapping, t))
      found.push_back({t.name, t.shape});
  }
  return found;
}

struct Shard {
  std::string file;
  std::vector<std::size_t> tensors;  // indices into the reader's list
};

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

constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kConfig = "config.json";

bool is_model_file(std::string_view name) {
  return name == kConfig || name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json");
}

// Of shards that may have had other names.
void remove_parts(const std::string& dir) {
  for (const std::string& name : list_directory(dir))
    if (const auto marked = parse_marked_name(name); marked && marked->is_temporary && is_model_file(marked->place))
      remove_tree(dir + "/" + name, {});
}

void refuse_existing_model(const std::string& dir) {
  for (const std::string& name : list_directory(dir))
    check(!is_model_file(name), "[hf] {} already holds {}; choose another directory or remove it", dir, name);
}

}  // namespace

std::shared_ptr<const TensorReader> read_hf_files(const TensorFiles& files,
                                                  const std::function<bool(const TensorInfo&)>& wanted,
                                                  bool past_cache) {
  auto store = std::make_shared<TensorStore>(files.where(), past_cache);
  for (const TensorInfo& t : files.tensors()) {
    if (!wanted(t)) continue;
    store->add_tensor({t.name, t.dtype(), t.shape}, {{.offset = Shape(t.shape.size(), 0),
                                                      .shape = t.shape,
                                                      .strides = row_major_strides(t.shape),
                                                      .file = store->add_file(t.file),
                                                      .position = t.offset}});
  }
  return store;
}

std::shared_ptr<const TensorReader> read_hf_weights(const TensorFiles& files, const HfConfig& config, bool past_cache) {
  const HfMapping mapping = hf_mapping(*config.family, config.model);
  check_same_tensors("[hf] " + files.where(), mapping.theirs, found_tensors(files, mapping, config.fp8.has_value()));
  std::unordered_map<std::string, std::string> spelled;  // the mapping's names in the files
  std::unordered_set<std::string> known;
  for (const NamedShape& t : mapping.theirs)
    if (const TensorInfo* stored = find_tensor(files, mapping, t.name))
      spelled.emplace(t.name, stored->name), known.insert(stored->name);
  const auto is_scale = [&](const TensorInfo& t) { return config.fp8 && t.name.ends_with(kFp8Scale); };
  auto weights = read_hf_files(
      files, [&](const TensorInfo& t) { return known.contains(t.name) || is_scale(t); }, past_cache);
  if (config.fp8) weights = read_fp8_weights(weights, *config.fp8);
  for (const TensorSpec& t : weights->tensors())
    check(is_float(t.dtype), "[hf] {}: tensor \"{}\" has type {}: want a floating-point type", files.where(), t.name,
          name_of(t.dtype));
  const auto spell = [&](const std::string& name) { return spelled.at(name); };
  return std::make_shared<MappedTensors>(weights, mapping, MapTo::ours, MappedTensors::Options{.spell = spell});
}

// Files are renamed only after all are complete and on disk. So an interruption or a full disk leaves no partial model
// that one would have to remove by hand.
void export_hf_as_is(const std::string& dir, const std::string& config_json, const TensorReader& tensors,
                     const HfExportOptions& options) {
  make_directories(dir, {});
  refuse_existing_model(dir);
  remove_parts(dir);
  const auto shards = cut_shards(tensors, options.max_shard_bytes);
  const std::string mark = kTemporary + std::to_string(::getpid());
  std::vector<std::string> files;
  const auto begin = [&](const std::string& name) {
    options.still_ours();
    return files.emplace_back(dir + "/" + name) + mark;
  };
  try {
    for (const Shard& shard : shards) write_shard(begin(shard.file), tensors, shard);
    if (shards.size() > 1) write_text(begin(kIndex), format_index(tensors, shards), {});
    write_text(begin(kConfig), config_json, {});
    options.before_config();
    for (const std::string& file : files) {
      if (file == files.back()) sync_directory(dir, {});  // no crash keeps config.json without the others
      options.still_ours();
      rename_path(file + mark, file, {});
    }
  } catch (const std::exception&) {
    std::error_code ignored;
    for (const std::string& file : files) fs::remove(file + mark, ignored);
    throw;
  }
  sync_directory(dir, {});
}

void export_hf(const std::string& dir, const HfConfig& config, std::shared_ptr<const TensorReader> logical,
               const HfExportOptions& options) {
  const std::string text = write_hf_config(config);
  const MappedTensors theirs(std::move(logical), hf_written_mapping(*config.family, config.model), MapTo::theirs,
                             {.type = options.type});
  export_hf_as_is(dir, text, theirs, options);
}

}  // namespace megalith
