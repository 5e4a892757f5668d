// Native checkpoints: sets of logical tensors, whole or in blocks at global offsets, that any layout can read.
//
//   SAVE/latest_checkpointed_iteration.txt      "10"
//   SAVE/iter_0000010/manifest.json             iteration, samples, config, training state; every tensor, where it is,
//                                               and xxh64 of each 4 MiB of it
//                     shard_00000.safetensors   the tensors' bytes, readable by other tools too
//                     checksums.txt             xxh64 of the other files; `xxh64sum -c` reads it
//
// A checkpoint appears by one rename of a directory whose files are all on disk, and `latest` follows by another. So a
// crash at any instant leaves the old checkpoint or the new one. Directories named iter_*.tmp-PID are unfinished and
// never loaded.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/native/read_mark.h"
#include "ckpt/tensors/block_file.h"
#include "ckpt/tensors/files.h"
#include "ckpt/tensors/safetensors.h"

namespace megalith {

struct Manifest {
  i64 iteration = 0;
  i64 consumed_samples = 0;
  std::string config_json = "{}";  // the run's options
  std::string state_json = "{}";   // scalars that training resumes from: seeds, schedule counts, sampler, ...
};

// A tensor to save: the full tensor, or this rank's block.
struct SaveTensor {
  std::string name;
  Shape shape;  // of `data`
  DType dtype = DType::f32;
  const void* data = nullptr;  // row-major
  Shape global_shape{};        // empty: shape
  Shape offset{};              // of the block in the whole; empty: zeros
  // Instead of `data`: fills elements [begin, begin + n). Called for consecutive ranges. With several writers, several
  // threads call it for different tensors.
  std::function<void(i64 begin, i64 n, std::byte* out)> fill{};
  bool is_trained = true;  // else it has no optimizer state, and its own name in every format
};

inline i64 bytes_of(const SaveTensor& t) { return count(t.shape) * size_of(t.dtype); }

struct SaveOptions {
  // Older checkpoints are kept if they are among the newest `keep_last` (this one included; 0: with `keep_multiples`,
  // 1; else all), or if their iteration is a multiple of `keep_multiples` (0: none).
  i64 keep_last = 0;
  i64 keep_multiples = 0;
  // Replace a checkpoint of the same iteration by swapping directories, where the file system can.
  bool exchange = true;
  int writers = 1;  // number of writing threads, one file each
  // Throws Error if the directory is gone, or belongs to another job now. Called before each step that others can see:
  // before anything is created, before the checkpoint appears, before `latest` names it, before any is deleted.
  std::function<void()> still_ours = [] {};
  // Of those that would go: whether this one is the job's to delete.
  std::function<bool(const std::string& path)> may_remove = [](const std::string&) { return true; };
  StepHook hook{};  // with several writers, called by each of them
};

// One process saves all tensors to SAVE/iter_NNNNNNN, and points `latest` at it (several ranks:
// resume/background_save.h). It replaces a checkpoint of the same iteration. If a step fails: Error, no files remain,
// and earlier checkpoints are unchanged. If only deleting old checkpoints fails: a warning.
void save_checkpoint(const std::string& dir, const Manifest& manifest, std::span<const SaveTensor> tensors,
                     const SaveOptions& options = {});

struct TensorBlock {
  std::string file;  // in the checkpoint's directory
  std::string key;   // the tensor's name in the file
  Shape offset, shape;
  i64 chunk_bytes = 0;
  std::vector<u64> checksums{};  // xxh64 of each chunk of its bytes; the last may be shorter
};

struct CheckpointTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::vector<TensorBlock> blocks;  // disjoint, and together the whole
};

struct OpenOptions {
  std::optional<i64> iteration{};      // none: the latest
  bool verify = true;                  // read every byte and compare checksums
  std::optional<i64> no_later_than{};  // without `iteration`: ignores later checkpoints
  bool whole = true;                   // blocks must cover all tensors; false for a rank's non-persistent one
  // Long chunks that are read whole, where they belong, are read past the page cache: faster, unless another process of
  // this host reads them too.
  bool past_cache = false;
  bool tells = true;  // warn if the newest one is not opened
  // Without `iteration`: if the latest is damaged, an older one is opened, as a resumed run does. Otherwise the Error
  // names an intact one.
  bool or_older = true;
};

struct SaveDirectory;

class Checkpoint {
 public:
  // Opens one iter_NNNNNNN; the option `iteration` is ignored. Error if its files are inconsistent. Data is verified
  // chunk by chunk when it is read.
  static Checkpoint open_directory(const std::string& path, const OpenOptions& options = {});

  const std::string& path() const { return path_; }  // SAVE/iter_NNNNNNN
  const Manifest& manifest() const { return manifest_; }
  const std::string& passed_over() const { return passed_over_; }  // why it is not the newest; "" if it is
  const std::vector<CheckpointTensor>& tensors() const { return tensors_; }
  const CheckpointTensor* find(const std::string& name) const;  // nullptr if absent

  // Reads the block of shape `shape` at `offset`, in its stored type, row-major; the saved blocks may be others. Each
  // chunk of the files that overlaps it is read once, with memory for one chunk besides `out`. DamagedCheckpoint if a
  // checksum differs. Several threads may call it.
  void read_block(const std::string& name, const Shape& offset, const Shape& shape, std::span<std::byte> out) const;
  // Likewise elements [begin, begin + n) of the tensor in row-major order.
  void read_range(const std::string& name, i64 begin, i64 n, std::byte* out) const;
  // The last element, up to `end`, with which a chunk begins: ranges that end there share no chunk. `end` if blocks
  // are not ranges of the tensor.
  i64 cut_before(const std::string& name, i64 end) const;

 private:
  friend Checkpoint open_checkpoint(const std::string& dir, const OpenOptions& options);
  static Checkpoint open_first(const std::string& dir, const SaveDirectory& save, const OpenOptions& options);
  void open_blocks(const std::map<std::string, u64>& headers, bool past_cache);
  const CheckpointTensor& at(const std::string& name) const;

  std::string path_, passed_over_;
  ReadMark mark_;
  Manifest manifest_;
  std::vector<CheckpointTensor> tensors_;
  std::unordered_map<std::string, std::size_t> index_;
  struct File {
    // `header_sum`: xxh64 of its header; none: it was not kept.
    File(const std::string& path, BlockPool& stretches, bool past_cache, std::optional<u64> header_sum);
    BlockFile bytes;
    std::unordered_map<std::string, TensorInfo> tensors{};
  };
  template <class InPlace, class Take>
  void read_chunks(const CheckpointTensor& t, const TensorBlock& block, i64 first, i64 last, InPlace&& in_place,
                   Take&& take) const;
  // Both return how many elements they share.
  i64 read_common(const CheckpointTensor& t, const TensorBlock& block, const Shape& offset, const Shape& shape,
                  std::byte* out) const;
  i64 read_stretch(const CheckpointTensor& t, const TensorBlock& block, i64 begin, i64 n, std::byte* out) const;
  void check_chunk(const CheckpointTensor& t, const TensorBlock& block, i64 chunk,
                   std::span<const std::byte> bytes) const;
  std::shared_ptr<BlockPool> stretches_;  // memory for reading past the page cache
  std::unordered_map<std::string, std::shared_ptr<const File>> files_;
};

// Opens SAVE's checkpoint of an iteration, or the latest one; `dir` may also be one iter_NNNNNNN. If the latest is
// damaged or missing, the newest intact one is opened, unless the options forbid that. A warning says why. A requested
// iteration must be intact.
Checkpoint open_checkpoint(const std::string& dir, const OpenOptions& options = {});

// Whether the directory holds anything that open_checkpoint would try.
bool has_checkpoint(const std::string& dir);

}  // namespace megalith
