// safetensors files: an 8-byte header length, a JSON header, then the tensors' bytes back to back.
// Format: https://huggingface.co/docs/safetensors. Opening checks everything the header claims before any tensor is
// read: hostile or truncated files end in one Error that names the file and the tensor.
#pragma once
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/read_file.h"
#include "base/shape.h"
#include "ckpt/tensors/durable_file.h"

namespace megalith {

struct TensorInfo {
  std::string name;
  std::string stored_type;  // the file's word: "F32", "BF16", "F8_E4M3", ...
  Shape shape{};
  std::string file{};
  i64 offset = 0;  // of the first byte, from the start of the file
  i64 bytes = 0;

  bool is_readable() const;  // whether there is a DType for the stored type
  DType dtype() const;       // Error if there is none
};

// The tensors of one file, or of all files of a sharded model.
class TensorFiles {
 public:
  // One .safetensors file.
  static TensorFiles open_file(const std::string& path);
  // A model directory: model.safetensors, or the shards that model.safetensors.index.json lists.
  static TensorFiles open_directory(const std::string& dir);

  const std::vector<TensorInfo>& tensors() const { return tensors_; }  // file by file, in the order of their bytes
  const TensorInfo* find(const std::string& name) const;               // nullptr if absent
  const TensorInfo& at(const std::string& name) const;                 // Error if absent
  // Reads bytes of the tensor from its byte `offset` on. Error if the file has fewer.
  void read(const TensorInfo& tensor, i64 offset, std::span<std::byte> out) const;
  std::vector<std::byte> read(const TensorInfo& tensor) const;                      // all of it
  std::vector<float> read_f32(const std::string& name) const;                       // from f32, f64, bf16 or f16
  const std::map<std::string, std::string>& metadata() const { return metadata_; }  // of the first file
  const std::string& where() const { return where_; }                               // path, for messages

 private:
  void add_file(const std::string& path);

  std::string where_;
  std::unordered_map<std::string, ReadFile> files_;
  std::vector<TensorInfo> tensors_;
  std::unordered_map<std::string, std::size_t> index_;
  std::map<std::string, std::string> metadata_;
};

struct TensorSpec {
  std::string name;
  DType dtype = DType::f32;
  Shape shape{};
};
inline i64 bytes_of(const TensorSpec& t) { return count(t.shape) * size_of(t.dtype); }

// Writes one file in the reference writer's order (larger type first, then by name). The header is padded to 8 bytes;
// metadata is {"format": "pt"} plus `metadata`. The header is written at once. Then write() takes the tensors' bytes in
// the order of tensors(), in any sizes; finish() makes the file durable.
class SafetensorsWriter {
 public:
  SafetensorsWriter(const std::string& path, std::vector<TensorSpec> tensors,
                    std::map<std::string, std::string> metadata = {}, StepHook hook = {});
  const std::vector<TensorSpec>& tensors() const { return tensors_; }
  void write(std::span<const std::byte> bytes);
  void finish();                                     // Error if bytes are missing
  u64 checksum() const { return file_.checksum(); }  // xxh64 of the file so far
  i64 size() const { return file_.size(); }

 private:
  std::string path_;
  std::vector<TensorSpec> tensors_;
  DurableFile file_;
  i64 end_ = 0;  // size of the complete file
};

}  // namespace megalith
