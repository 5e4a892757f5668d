#include "ckpt/torch/torch_dist.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/check.h"
#include "base/read_error.h"
#include "ckpt/tensors/files.h"
#include "ckpt/torch/optimizer_state.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMetadata = "torch.distributed.checkpoint.metadata.";
constexpr const char* kCommonObject = "common_state/shard_0_1";

std::string key_of(const std::string& name, const Shape& offset) {
  return fmt::format("{}@{}", name, fmt::join(offset, ","));
}

// The name of a dtype: `torch.bfloat16`, first of the properties' tuple.
std::string type_of(const PickleValue* properties, const std::string& what) {
  const auto* state = properties == nullptr || properties->state == nullptr ? nullptr : properties->state->sequence();
  const PickleValue* type = state != nullptr && !state->empty() ? (*state)[0] : nullptr;
  if (type == nullptr && properties != nullptr) type = properties->find("dtype");
  check(type != nullptr && type->kind == PickleValue::Kind::global && type->text.starts_with("torch."),
        "{} has no dtype", what);
  return type->text.substr(std::string_view("torch.").size());
}

// In a chain of optimizers the names may have the optimizer's number: chained_1.optimizer.state.NAME. The parameters
// show which one it is.
std::string without_chain(const std::string& name) {
  if (!name.starts_with("chained_")) return name;
  const auto at = name.find('.');
  const bool named = at != name.npos && std::string_view(name).substr(at + 1).starts_with(kMegatronState);
  return named ? name.substr(at + 1) : name;
}

}  // namespace

TorchDist::TorchDist(const std::string& dir, bool past_cache)
    : dir_(dir), store_(std::make_shared<TensorStore>(dir, past_cache)), sums_(std::make_shared<ArchiveSums>(store_)) {
  const std::string path = dir + "/.metadata";
  check(fs::exists(path), "[load] {} has no .metadata: its save was not finished, or a copy left it out", dir);
  const ReadFile file(path);
  check(file.size() <= TorchZip::kMaxWhole, "[load] {} has {} bytes, more than {}: no table of a checkpoint's tensors",
        path, file.size(), TorchZip::kMaxWhole);
  const Pickle pickle(FileRange(file).bytes(0, file.size()), "[load] " + path);
  const PickleValue& metadata = pickle.root();
  check(metadata.is(std::string(kMetadata) + "Metadata") || metadata.text.ends_with(".MCoreMetadata"),
        "[load] {} holds {}: want the metadata of a distributed checkpoint", path, metadata.describe());
  const PickleValue* entries = metadata.find("state_dict_metadata");
  check(entries != nullptr && entries->is_dict(), "[load] {} lists no tensors", path);
  items_ = read_items(metadata);
  entries->for_entries([&](const PickleValue& key, const PickleValue& entry) {
    const std::string& name = pickle_text(&key, "[load] " + path + ": a tensor's name");
    if (entry.is(std::string(kMetadata) + "TensorStorageMetadata"))
      add_tensor(name, entry);
    else
      objects_.push_back(name);
  });
  read_common();
}

TorchDist::Items TorchDist::read_items(const PickleValue& metadata) const {
  const std::string what = "[load] " + dir_ + "/.metadata: ";
  const PickleValue* table = metadata.find("storage_data");
  check(table != nullptr && table->is_dict(), "{}it does not have the tensors' locations", what);
  Items items;
  table->for_entries([&](const PickleValue& key, const PickleValue& value) {
    const std::string& name = pickle_text(key.find("fqn"), what + "a tensor's name");
    const PickleValue* offset = key.find("offset");
    const PickleValue* transforms = value.find("transform_descriptors");
    check(transforms == nullptr || transforms->is_none() || transforms->items.empty(),
          "{}tensor {} is compressed or otherwise transformed: save it without", what, name);
    Item item{pickle_text(value.find("relative_path"), what + "the file of " + name),
              pickle_integer(value.find("offset"), what + "the offset of " + name),
              pickle_integer(value.find("length"), what + "the length of " + name)};
    check(item.file.find('/') == std::string::npos && item.file != ".." && !item.file.empty(),
          "{}tensor {} is in \"{}\", outside the checkpoint", what, name, item.file);
    const bool has_offset = offset != nullptr && !offset->is_none();
    items[has_offset ? key_of(name, pickle_sizes(offset, what + "the place of " + name)) : name] = std::move(item);
  });
  return items;
}

FileRange TorchDist::range_of(const Item& item) {
  const std::string path = dir_ + "/" + item.file;
  check(fs::exists(path), "[load] {} is missing", path);
  const ReadFile& file = store_->file(store_->add_file(path));
  check(item.offset >= 0 && item.length >= 0 && item.offset <= file.size() && item.length <= file.size() - item.offset,
        "[load] {} is truncated: {} bytes from {} on should be there, it has {}", path, item.length, item.offset,
        file.size());
  return {file, item.offset, item.length};
}

void TorchDist::add_tensor(const std::string& name, const PickleValue& entry) {
  const std::string what = fmt::format("[load] {}/.metadata: tensor {}", dir_, name);
  const std::string type = type_of(entry.find("properties"), what);
  const auto dtype = dtype_of_torch(type);
  if (!dtype) return unread_.push_back(name + " (" + type + ")");
  TensorSpec spec{without_chain(name), *dtype, pickle_sizes(entry.find("size"), what + "'s size")};
  const PickleValue* chunks = entry.find("chunks");
  check(chunks != nullptr && chunks->sequence() != nullptr, "{} has no parts", what);
  std::vector<StoredBox> boxes;
  for (const PickleValue* chunk : *chunks->sequence()) {
    const Shape offset = pickle_sizes(chunk->find("offsets"), what + "'s part");
    auto item = items_.find(key_of(name, offset));
    if (item == items_.end()) item = items_.find(name);
    check(item != items_.end(), "{}: the part at {} is in no file", what, to_string(offset));
    boxes.push_back(read_box(name, *chunk, *dtype, item->second));
  }
  store_->add_tensor(std::move(spec), std::move(boxes));
}

StoredBox TorchDist::read_box(const std::string& name, const PickleValue& chunk, DType type, const Item& item) {
  const std::string where = fmt::format("[load] {}/{}: tensor {}", dir_, item.file, name);
  const TorchFile file(range_of(item), where);
  sums_->add(file.zip());
  const auto t = file.tensor(file.root());
  check(t.has_value(), "{} is {}", where, file.root().describe());
  StoredBox box{.offset = pickle_sizes(chunk.find("offsets"), where),
                .shape = pickle_sizes(chunk.find("sizes"), where),
                .strides = t->strides,
                .file = store_->add_file(dir_ + "/" + item.file),
                .position = item.offset + t->position,
                .swapped = t->swapped};
  check(dtype_of_torch(t->type) == type && t->shape == box.shape, "{}: {} of {} differs from .metadata, {} of {}",
        where, to_string(t->shape), t->type, to_string(box.shape), torch_name_of(type));
  return box;
}

std::unique_ptr<TorchDist::Object> TorchDist::object(const std::string& name) {
  const auto item = items_.find(name);
  if (item == items_.end()) return nullptr;
  const std::string where = fmt::format("[load] {}/{}: {}", dir_, item->second.file, name);
  return std::make_unique<Object>(TorchFile(range_of(item->second), where));
}

void TorchDist::read_common() {
  Item item{"common.pt"};
  const std::string path = dir_ + "/" + item.file;
  const auto object = items_.find(kCommonObject);
  if (fs::exists(path))
    item.length = store_->file(store_->add_file(path)).size();
  else if (object != items_.end())
    item = object->second;
  else
    return;
  const std::string where = fmt::format("[load] {}/{}", dir_, item.file);
  common_ = std::make_unique<TorchFile>(range_of(item), where);
  common_root_ = &common_->root();
  // As an object it is a list of one.
  if (common_root_->kind == PickleValue::Kind::list && common_root_->items.size() == 1)
    common_root_ = common_root_->items[0];
  check(common_root_->is_dict(), "{} holds {}: want a dict", where, common_root_->describe());
}

bool is_torch_dist(const std::string& dir) {
  return file_exists(dir + "/.metadata") ||
         directory_has(dir, [](const std::string& name) { return name.ends_with(".distcp"); });
}

}  // namespace megalith
