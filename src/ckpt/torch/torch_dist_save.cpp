#include "ckpt/torch/torch_dist_save.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/in_parallel.h"
#include "ckpt/native/shards.h"
#include "ckpt/tensors/durable_file.h"
#include "ckpt/torch/pickle_writer.h"
#include "ckpt/torch/torch_file.h"
#include "ckpt/torch/torch_zip_writer.h"

namespace megalith {
namespace {

using nlohmann::json;

constexpr i64 kFileBytes = i64{4} << 30;   // a file gets no further item once it is as large
constexpr i64 kChunkLimit = i64{1} << 30;  // bytes of one item, where rows allow
const std::string kModule = "torch.distributed.checkpoint.metadata";

struct Item {
  std::string file;
  i64 offset = 0, length = 0;
};
struct Chunk {
  Shape offset, shape;
  Item item;
};
struct DistTensor {
  TensorSpec spec;
  std::vector<Chunk> chunks;
};

// The .distcp files of one writer, items back to back. `name(n)`: of its n-th file.
class ItemWriter {
 public:
  // `bytes`: of all tensors that will come.
  ItemWriter(std::string dir, std::function<std::string(int)> name, const StepHook& hook, i64 bytes)
      : dir_(std::move(dir)), name_of_(std::move(name)), hook_(hook), left_(bytes) {}

  Item write(const std::string& archive) {
    Item item = open();
    file_->write(std::as_bytes(std::span(archive)));
    item.length = i64(archive.size());
    return item;
  }
  Item write(const SaveTensor& t) {
    Item item = open();
    TorchTensorWriter writer([&](std::span<const std::byte> b) { file_->write(b); }, t.dtype, t.shape);
    for_chunks(t, piece_, [&](std::span<const std::byte> bytes) { writer.write(bytes); });
    item.length = writer.finish();
    left_ -= bytes_of(t);
    return item;
  }
  void finish() {
    if (file_) file_->sync();
    file_.reset();
  }

 private:
  Item open() {
    if (file_ && file_->size() >= kFileBytes) finish();
    if (!file_) {
      name_ = name_of_(files_++);
      file_ = std::make_unique<DurableFile>(dir_ + "/" + name_, hook_, std::min(left_, kFileBytes));
    }
    return {name_, file_->size(), 0};
  }

  std::string dir_, name_;
  std::function<std::string(int)> name_of_;
  StepHook hook_;
  int files_ = 0;
  i64 left_;
  std::unique_ptr<DurableFile> file_;
  std::vector<std::byte> piece_;
};

json to_json(const Item& item) { return {item.file, item.offset, item.length}; }
Item item_of(const json& j) { return {j.at(0), j.at(1), j.at(2)}; }

// A rank's account: the objects' item, if it wrote them, and for each block its tensor, place and item.
json account_of(const SaveTensor& t, const Item& item) {
  return {{"name", t.name},   {"dtype", int(t.dtype)},     {"global", global_shape(t)},
          {"shape", t.shape}, {"offset", block_offset(t)}, {"item", to_json(item)}};
}

std::vector<DistTensor> join_accounts(const std::vector<std::string>& accounts, Item& objects) {
  std::vector<DistTensor> all;
  std::map<std::string, std::size_t> index;
  for (const std::string& text : accounts) {
    const json account = json::parse(text);
    if (account.contains("objects")) objects = item_of(account["objects"]);
    for (const json& b : account.at("blocks")) {
      const auto [it, added] = index.emplace(b.at("name"), all.size());
      if (added) all.push_back({{it->first, DType(b.at("dtype").get<int>()), b.at("global").get<Shape>()}, {}});
      all[it->second].chunks.push_back(
          {b.at("offset").get<Shape>(), b.at("shape").get<Shape>(), item_of(b.at("item"))});
    }
  }
  for (const DistTensor& t : all) {
    i64 elements = 0;
    for (const Chunk& c : t.chunks) elements += count(c.shape);
    check(elements == count(t.spec.shape), "the parts of tensor {} hold {} of {} elements", t.spec.name, elements,
          count(t.spec.shape));
  }
  return all;
}

void pickle_tensor(PickleWriter& p, const TensorSpec& t, const std::vector<Chunk>& chunks) {
  p.object(kModule, "TensorStorageMetadata", [&] {
    p.dict([&] {
      p.text("properties");
      p.object(kModule, "TensorProperties", [&] {
        p.tuple([&] {
          p.global("torch", std::string(torch_name_of(t.dtype)));
          p.call("torch.serialization", "_get_layout", [&] { p.text("torch.strided"); });
          p.boolean(false);
          p.call(kModule, "_MEM_FORMAT_ENCODING", [&] { p.integer(0); });
          p.boolean(false);
        });
      });
      p.text("size");
      p.torch_size(t.shape);
      p.text("chunks");
      p.list([&] {
        for (const Chunk& c : chunks)
          p.object(kModule, "ChunkStorageMetadata", [&] {
            p.dict([&] {
              p.text("offsets"), p.torch_size(c.offset);
              p.text("sizes"), p.torch_size(c.shape);
            });
          });
      });
    });
  });
}

void pickle_place(PickleWriter& p, const std::string& name, const Shape* offset, const Item& item) {
  p.object(kModule, "MetadataIndex", [&] {
    p.dict([&] {
      p.entry("fqn", name);
      p.text("index"), p.none();
      if (offset == nullptr) return;
      p.text("offset"), p.torch_size(*offset);
    });
  });
  p.object("torch.distributed.checkpoint.filesystem", "_StorageInfo", [&] {
    p.dict(
        [&] { p.entry("relative_path", item.file), p.entry("offset", item.offset), p.entry("length", item.length); });
  });
}

std::string pickle_metadata(const std::vector<std::string>& objects, const Item& object,
                            const std::vector<DistTensor>& tensors) {
  PickleWriter p;
  p.object(kModule, "Metadata", [&] {
    p.dict([&] {
      p.text("state_dict_metadata");
      p.dict([&] {
        for (const std::string& name : objects) p.text(name), p.object(kModule, "BytesStorageMetadata");
        for (const DistTensor& t : tensors) p.text(t.spec.name), pickle_tensor(p, t.spec, t.chunks);
      });
      p.text("planner_data"), p.none();
      p.text("storage_data");
      p.dict([&] {
        for (const std::string& name : objects) pickle_place(p, name, nullptr, object);
        for (const DistTensor& t : tensors)
          for (const Chunk& chunk : t.chunks) pickle_place(p, t.spec.name, &chunk.offset, chunk.item);
      });
      p.text("storage_meta"), p.none();
    });
  });
  return p.finish();
}

// Along the first dim: one layer each if layers are stacked, else as many rows as stay below the limit.
void add_chunks(const TensorReader& tensors, std::size_t i, std::vector<SaveTensor>& out) {
  const TensorSpec& t = tensors.tensors()[i];
  const auto add = [&](i64 first, i64 rows, i64 row) {
    SaveTensor& chunk = out.emplace_back(SaveTensor{t.name, t.shape, t.dtype});
    chunk.global_shape = t.shape, chunk.offset = Shape(t.shape.size(), 0);
    if (!t.shape.empty()) chunk.offset[0] = first, chunk.shape[0] = rows;
    chunk.fill = [&tensors, i, from = first * row](i64 begin, i64 n, std::byte* to) {
      tensors.read_range(i, from + begin, n, to);
    };
  };
  if (t.shape.empty() || count(t.shape) == 0) return add(0, t.shape.empty() ? 1 : t.shape[0], 0);
  const i64 row = count(t.shape) / t.shape[0];
  constexpr std::string_view kLayers = "coder.layers.";  // of a decoder or an encoder
  const auto at = t.name.find(kLayers);
  const bool stacked =
      at != std::string::npos && std::isdigit(static_cast<unsigned char>(t.name[at + kLayers.size()])) == 0;
  const i64 rows = stacked ? 1 : std::max<i64>(1, kChunkLimit / (row * size_of(t.dtype)));
  for (i64 first = 0; first < t.shape[0]; first += rows) add(first, std::min(rows, t.shape[0] - first), row);
}

}  // namespace

std::string DistcpWriter::write(const std::string& at) {
  const int writers = options_.writers;
  const auto parts = split_by_size(tensors_, writers);
  std::vector<json> blocks(parts.size(), json::array());
  json account = json::object();
  in_parallel(writers, [&](int w) {
    i64 bytes = 0;
    for (const SaveTensor* t : parts[std::size_t(w)]) bytes += bytes_of(*t);
    ItemWriter items(
        at, [&](int n) { return fmt::format("__{}_{}.distcp", rank_, n * writers + w); }, options_.hook, bytes);
    if (w == 0 && rank_ == 0 && !content_.empty_objects.empty())
      account["objects"] = to_json(items.write(torch_archive_of_empty_tensor()));
    for (const SaveTensor* t : parts[std::size_t(w)]) blocks[std::size_t(w)].push_back(account_of(*t, items.write(*t)));
    items.finish();
  });
  account["blocks"] = json::array();
  for (json& part : blocks)
    for (json& block : part) account["blocks"].push_back(std::move(block));
  return account.dump();
}

void DistcpWriter::describe(const std::string& at, const std::vector<std::string>& accounts) {
  Item object;
  const std::vector<DistTensor> tensors = join_accounts(accounts, object);
  write_text(at + "/common.pt", torch_archive(content_.common, "common", content_.storage), options_.hook);
  write_text(at + "/.metadata", pickle_metadata(content_.empty_objects, object, tensors), options_.hook);
  write_text(at + "/metadata.json", R"({"sharded_backend": "torch_dist", "sharded_backend_version": 1})",
             options_.hook);
  sync_directory(at, options_.hook);
}

void save_torch_dist(const std::string& dir, i64 iteration, const TorchDistContent& content,
                     const TensorReader& tensors, const SaveOptions& options) {
  std::vector<SaveTensor> chunks;
  for (std::size_t i = 0; i < tensors.tensors().size(); ++i) add_chunks(tensors, i, chunks);
  DistcpWriter writer(content, std::move(chunks), 0, options);
  save_alone(dir, iteration, writer, options);
}

}  // namespace megalith
