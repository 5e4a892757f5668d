#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>

#include "base/check.h"
#include "base/log.h"
#include "ckpt/checkpoint.h"
#include "ckpt/checkpoint_layout.h"
#include "ckpt/tensor_reader.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kShard = "shard_00000.safetensors";

// f(bytes) for the tensor's bytes from front to back, in pieces.
template <class F>
void for_bytes(const SaveTensor& t, std::vector<std::byte>& piece, F&& f) {
  const i64 elements = count(t.shape), size = size_of(t.dtype);
  if (!t.fill) {
    const void* data = t.fetch ? t.fetch() : t.data;
    return f(std::span(static_cast<const std::byte*>(data), std::size_t(elements * size)));
  }
  for_pieces(elements, [&](i64 begin, i64 n) {
    piece.resize(std::size_t(n * size));
    t.fill(begin, n, piece.data());
    f(std::span<const std::byte>(piece));
  });
}

Shape global_shape(const SaveTensor& t) { return t.global_shape.empty() ? t.shape : t.global_shape; }
Shape offset(const SaveTensor& t) { return t.offset.empty() ? Shape(t.shape.size(), 0) : t.offset; }

// The name in the file: a tensor's own, and with its offset where it is a block.
std::string key_of(const SaveTensor& t) {
  return global_shape(t) == t.shape ? t.name : fmt::format("{}@{}", t.name, fmt::join(offset(t), ","));
}

// `checksums`: by key.
std::vector<CheckpointTensor> describe_tensors(std::span<const SaveTensor> tensors,
                                               const std::map<std::string, u64>& checksums) {
  std::vector<CheckpointTensor> list;
  std::map<std::string, std::size_t> index;
  for (const SaveTensor& t : tensors) {
    const Shape whole = global_shape(t), start = offset(t);
    check(whole.size() == t.shape.size() && start.size() == t.shape.size(),
          "[save] tensor {}: shape {}, global shape {}, offset {}", t.name, to_string(t.shape), to_string(whole),
          to_string(start));
    const auto [it, added] = index.emplace(t.name, list.size());
    if (added) list.push_back({t.name, t.dtype, whole, {}});
    CheckpointTensor& tensor = list[it->second];
    check(tensor.shape == whole && tensor.dtype == t.dtype,
          "[save] the blocks of tensor {} disagree about its shape or type", t.name);
    tensor.blocks.push_back({kShard, key_of(t), start, t.shape, checksums.at(key_of(t))});
  }
  return list;
}

// The checkpoint's files, all durable when it returns.
void write_files(const std::string& at, const Manifest& manifest, std::span<const SaveTensor> tensors,
                 const StepHook& hook) {
  std::vector<TensorSpec> specs;
  std::map<std::string, const SaveTensor*> by_key;
  for (const SaveTensor& t : tensors) {
    specs.push_back({key_of(t), t.dtype, t.shape});
    by_key[specs.back().name] = &t;
  }
  std::map<std::string, u64> checksums;
  SafetensorsWriter writer(at + "/" + kShard, std::move(specs), {}, hook);
  std::map<std::string, u64> tensor_checksums;
  std::vector<std::byte> piece;
  for (const TensorSpec& spec : writer.tensors()) {
    Xxh64 sum;
    for_bytes(*by_key.at(spec.name), piece, [&](std::span<const std::byte> bytes) {
      writer.write(bytes);
      sum.add(bytes);
    });
    tensor_checksums[spec.name] = sum.value();
  }
  writer.finish();
  checksums[kShard] = writer.checksum();
  const std::string text = format_manifest({manifest, describe_tensors(tensors, tensor_checksums)});
  write_text(at + "/" + kManifestFile, text, hook);
  checksums[kManifestFile] = xxh64(text);
  write_text(at + "/" + kChecksumFile, format_checksums(checksums), hook);
  sync_directory(at, hook);
}

// Moves the finished directory into its place. One of the same name is swapped out in the same instant, or, where the
// file system can't, stands beside under a name that loading knows.
void publish(const std::string& temporary, const std::string& place, const SaveOptions& options) {
  const StepHook& hook = options.hook;
  if (!fs::exists(place)) return rename_path(temporary, place, hook);
  if (options.exchange && exchange_paths(temporary, place, hook)) return;
  const std::string aside = fmt::format("{}{}{}", place, kReplaced, ::getpid());
  remove_tree(aside, hook);
  rename_path(place, aside, hook);
  rename_path(temporary, place, hook);
}

// Whether the process that made a temporary directory may still be writing it.
bool is_in_use(std::string_view pid_text) {
  pid_t pid = 0;
  std::from_chars(pid_text.data(), pid_text.data() + pid_text.size(), pid);
  return pid > 0 && pid != ::getpid() && (::kill(pid, 0) == 0 || errno == EPERM);
}

// Unfinished and replaced directories of processes that are gone, and temporary files of `latest`.
void remove_leftovers(const std::string& dir, const StepHook& hook) {
  std::vector<std::string> leftovers;
  for (const auto& entry : fs::directory_iterator(dir)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("iter_") && !name.starts_with(kLatestFile)) continue;
    for (const std::string_view mark : {kTemporary, kReplaced}) {
      const auto at = name.find(mark);
      if (at != std::string::npos && !is_in_use(std::string_view(name).substr(at + mark.size())))
        leftovers.push_back(entry.path().string());
    }
  }
  for (const std::string& path : leftovers) remove_tree(path, hook);
}

}  // namespace

// Old checkpoints, oldest first; those of later iterations belong to a run that was abandoned and stay. A directory
// gets a temporary name before it goes, so that a half-deleted one is never taken for a checkpoint.
void remove_old_checkpoints(const std::string& dir, i64 iteration, const SaveOptions& options) {
  if (options.keep_last <= 0 && options.keep_multiples <= 0) return;
  const i64 keep_last = std::max<i64>(1, options.keep_last), multiples = options.keep_multiples;
  const StepHook& hook = options.hook;
  std::vector<FoundCheckpoint> found = list_checkpoints(dir);
  std::erase_if(found, [&](const FoundCheckpoint& c) { return c.iteration > iteration; });
  for (i64 i = 0; i + keep_last < i64(found.size()); ++i) {
    if (multiples > 0 && found[std::size_t(i)].iteration % multiples == 0) continue;
    const std::string doomed = fmt::format("{}{}{}", found[std::size_t(i)].path, kTemporary, ::getpid());
    remove_tree(doomed, hook);
    rename_path(found[std::size_t(i)].path, doomed, hook);
    remove_tree(doomed, hook);
  }
}

void save_checkpoint(const std::string& dir, const Manifest& manifest, std::span<const SaveTensor> tensors,
                     const SaveOptions& options) {
  const StepHook& hook = options.hook;
  const std::string place = dir + "/" + iteration_name(manifest.iteration);
  const std::string temporary = fmt::format("{}{}{}", place, kTemporary, ::getpid());
  bool published = false;
  try {
    make_directories(dir, hook);
    remove_tree(temporary, hook);
    make_directories(temporary, hook);
    write_files(temporary, manifest, tensors, hook);
    publish(temporary, place, options);
    published = true;
    sync_directory(dir, hook);
    replace_text(dir + "/" + kLatestFile, std::to_string(manifest.iteration), hook);
  } catch (const std::exception& e) {
    std::error_code ignored;
    if (!published) fs::remove_all(temporary, ignored);
    fail("[save] iteration {} was not saved: {}; earlier checkpoints are intact", manifest.iteration, e.what());
  }
  try {
    remove_leftovers(dir, hook);
    remove_old_checkpoints(dir, manifest.iteration, options);
  } catch (const std::exception& e) {
    log::warn("[save] iteration {} is saved, but an old checkpoint could not be removed: {}", manifest.iteration,
              e.what());
  }
}

}  // namespace megalith
