#include "ckpt/torch/torch_dist_save.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/check.h"
#include "ckpt/checkpoint_layout.h"
#include "ckpt/torch/pickle_writer.h"
#include "ckpt/torch/torch_file.h"
#include "ckpt/torch/torch_zip_writer.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

constexpr i64 kFileBytes = i64{4} << 30;   // a file gets no further item once it is as large
constexpr i64 kChunkBytes = i64{1} << 30;  // of one item, where rows allow
const std::string kModule = "torch.distributed.checkpoint.metadata";

struct Item {
  std::string file;
  i64 offset = 0, length = 0;
};
struct Chunk {
  Shape offset, shape;
  Item item;
};

// Along the first dimension: a layer each where layers are stacked, else as many rows as stay below the limit.
std::vector<Chunk> cut_chunks(const TensorSpec& t) {
  if (t.shape.empty() || count(t.shape) == 0) return {{Shape(t.shape.size(), 0), t.shape, {}}};
  const i64 row = count(t.shape) / t.shape[0] * size_of(t.dtype);
  const auto at = t.name.find("decoder.layers.");
  const bool stacked = at != std::string::npos && std::isdigit(static_cast<unsigned char>(t.name[at + 15])) == 0;
  const i64 rows = stacked ? 1 : std::max<i64>(1, kChunkBytes / row);
  std::vector<Chunk> chunks;
  for (i64 first = 0; first < t.shape[0]; first += rows) {
    Chunk c{Shape(t.shape.size(), 0), t.shape, {}};
    c.offset[0] = first, c.shape[0] = std::min(rows, t.shape[0] - first);
    chunks.push_back(std::move(c));
  }
  return chunks;
}

// The .distcp files of one process, items back to back.
class ItemWriter {
 public:
  explicit ItemWriter(std::string dir) : dir_(std::move(dir)) {}

  Item write(const std::string& archive) {
    Item item = open();
    file_->write(std::as_bytes(std::span(archive)));
    item.length = i64(archive.size());
    return item;
  }
  Item write(const TensorReader& tensors, std::size_t i, const Chunk& chunk) {
    const TensorSpec& t = tensors.tensors()[i];
    Item item = open();
    TorchTensorWriter writer([&](std::span<const std::byte> b) { file_->write(b); }, t.dtype, chunk.shape);
    const i64 row = t.shape.empty() || t.shape[0] == 0 ? 0 : count(t.shape) / t.shape[0];
    const i64 first = t.shape.empty() ? 0 : chunk.offset[0] * row;
    for_pieces(count(chunk.shape), [&](i64 begin, i64 n) {
      piece_.resize(std::size_t(n * size_of(t.dtype)));
      tensors.read_range(i, first + begin, n, piece_.data());
      writer.write(piece_);
    });
    item.length = writer.finish();
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
      name_ = fmt::format("__0_{}.distcp", files_++);
      file_ = std::make_unique<DurableFile>(dir_ + "/" + name_);
    }
    return {name_, file_->size(), 0};
  }

  std::string dir_, name_;
  int files_ = 0;
  std::unique_ptr<DurableFile> file_;
  std::vector<std::byte> piece_;
};

struct Contents {
  const TensorReader& tensors;
  std::vector<std::vector<Chunk>> chunks;  // by tensor
  const std::vector<std::string>& objects;
  Item object;  // all of them
};

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

std::string pickle_metadata(const Contents& c) {
  PickleWriter p;
  p.object(kModule, "Metadata", [&] {
    p.dict([&] {
      p.text("state_dict_metadata");
      p.dict([&] {
        for (const std::string& name : c.objects) p.text(name), p.object(kModule, "BytesStorageMetadata");
        for (std::size_t i = 0; i < c.chunks.size(); ++i)
          p.text(c.tensors.tensors()[i].name), pickle_tensor(p, c.tensors.tensors()[i], c.chunks[i]);
      });
      p.text("planner_data"), p.none();
      p.text("storage_data");
      p.dict([&] {
        for (const std::string& name : c.objects) pickle_place(p, name, nullptr, c.object);
        for (std::size_t i = 0; i < c.chunks.size(); ++i)
          for (const Chunk& chunk : c.chunks[i])
            pickle_place(p, c.tensors.tensors()[i].name, &chunk.offset, chunk.item);
      });
      p.text("storage_meta"), p.none();
    });
  });
  return p.finish();
}

void write_files(const std::string& at, const TorchDistContent& content, const TensorReader& tensors) {
  ItemWriter items(at);
  Contents contents{tensors, {}, content.empty_objects, {}};
  if (!content.empty_objects.empty()) contents.object = items.write(torch_archive_of_empty_tensor());
  for (std::size_t i = 0; i < tensors.tensors().size(); ++i) {
    contents.chunks.push_back(cut_chunks(tensors.tensors()[i]));
    for (Chunk& chunk : contents.chunks.back()) chunk.item = items.write(tensors, i, chunk);
  }
  items.finish();
  write_text(at + "/common.pt", torch_archive(content.common, "common"), {});
  write_text(at + "/.metadata", pickle_metadata(contents), {});
  write_text(at + "/metadata.json", R"({"sharded_backend": "torch_dist", "sharded_backend_version": 1})", {});
  sync_directory(at, {});
}

}  // namespace

void save_torch_dist(const std::string& dir, const TorchDistContent& content, const TensorReader& tensors) {
  const std::string place = dir + "/" + iteration_name(content.iteration);
  const std::string temporary = fmt::format("{}{}{}", place, kTemporary, ::getpid());
  const std::string aside = fmt::format("{}{}{}", place, kReplaced, ::getpid());
  try {
    make_directories(temporary, {});
    write_files(temporary, content, tensors);
    if (fs::exists(place)) rename_path(place, aside, {});
    rename_path(temporary, place, {});
    sync_directory(dir, {});
    remove_tree(aside, {});
    replace_text(dir + "/" + kLatestFile, std::to_string(content.iteration), {});
  } catch (const std::exception&) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw;
  }
}

}  // namespace megalith
