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

// What one rank, or all of them together, have written.
struct Written {
  std::vector<CheckpointTensor> tensors;
  std::map<std::string, u64> files;  // checksums
};

void add_block(Written& w, const CheckpointTensor& like, const TensorBlock& block) {
  for (CheckpointTensor& t : w.tensors) {
    if (t.name != like.name) continue;
    check(t.shape == like.shape && t.dtype == like.dtype,
          "[save] the blocks of tensor {} disagree about its shape or type", t.name);
    return t.blocks.push_back(block);
  }
  w.tensors.push_back({like.name, like.dtype, like.shape, {block}});
}

// One file of tensors, durable when it returns.
void write_shard(const std::string& at, const std::string& file, const std::vector<const SaveTensor*>& tensors,
                 const StepHook& hook, Written& w) {
  std::vector<TensorSpec> specs;
  std::map<std::string, const SaveTensor*> by_key;
  for (const SaveTensor* t : tensors) {
    check(global_shape(*t).size() == t->shape.size() && offset(*t).size() == t->shape.size(),
          "[save] tensor {}: shape {}, global shape {}, offset {}", t->name, to_string(t->shape),
          to_string(global_shape(*t)), to_string(offset(*t)));
    specs.push_back({key_of(*t), t->dtype, t->shape});
    by_key[specs.back().name] = t;
  }
  SafetensorsWriter writer(at + "/" + file, std::move(specs), {}, hook);
  std::map<std::string, u64> checksums;
  std::vector<std::byte> piece;
  for (const TensorSpec& spec : writer.tensors()) {
    Xxh64 sum;
    for_bytes(*by_key.at(spec.name), piece, [&](std::span<const std::byte> bytes) {
      writer.write(bytes);
      sum.add(bytes);
    });
    checksums[spec.name] = sum.value();
  }
  writer.finish();
  for (const SaveTensor* t : tensors)
    add_block(w, {t->name, t->dtype, global_shape(*t), {}},
              {file, key_of(*t), offset(*t), t->shape, checksums.at(key_of(*t))});
  w.files[file] = writer.checksum();
}

// This rank's files. The first error is told only after begin_group was called for every group, as other ranks do.
Written write_shards(const std::string& at, std::span<const SaveTensor> tensors, const SaveOptions& o) {
  Written w;
  std::string error;
  for (int group = 0; group < o.groups; ++group) {
    if (o.begin_group) o.begin_group(group);
    std::vector<const SaveTensor*> mine;
    for (const SaveTensor& t : tensors)
      if (t.group == group) mine.push_back(&t);
    if (!error.empty() || (mine.empty() && o.sharing.size > 1)) continue;
    const std::string part = o.groups > 1 ? fmt::format("_{}", group) : "";
    try {
      write_shard(at, fmt::format("shard_{:05}{}.safetensors", o.sharing.rank, part), mine, o.hook, w);
    } catch (const std::exception& e) {
      error = e.what();
    }
  }
  check(error.empty(), "{}", error);
  return w;
}

// Runs f on all ranks, gives all the texts that it returned, and fails on all if it failed on any.
std::vector<std::string> on_all(const Sharing& s, const std::function<std::string()>& f) {
  if (s.size == 1) return {f()};
  std::string mine;
  try {
    mine = "+" + f();
  } catch (const std::exception& e) {
    mine = std::string("-") + e.what();
  }
  std::vector<std::string> all = s.all_gather(mine);
  for (size_t r = 0; r < all.size(); ++r) {
    check(all[r].starts_with('+'), "rank {}: {}", r, std::string_view(all[r]).substr(1));
    all[r].erase(0, 1);
  }
  return all;
}

// A rank's account, as text between ranks: a line a file, then tensors as manifests have them.
std::string to_text(const Written& w) {
  return fmt::format("{}\n{}{}", w.files.size(), format_checksums(w.files), format_manifest({{}, w.tensors}));
}

void add_text(Written& all, const std::string& text) {
  std::size_t at = text.find('\n') + 1;
  for (int lines = std::stoi(text); lines > 0; --lines) {
    const std::size_t end = text.find('\n', at), name = text.rfind(' ', end) + 1;
    all.files[text.substr(name, end - name)] = std::stoull(text.substr(at, 16), nullptr, 16);
    at = end + 1;
  }
  for (const CheckpointTensor& t : parse_manifest(text.substr(at), "another rank's account", false).tensors)
    for (const TensorBlock& block : t.blocks) add_block(all, t, block);
}

// All ranks' tensors, durable when it returns; what all have written, on the first.
Written write_tensors(const std::string& at, std::span<const SaveTensor> tensors, const SaveOptions& o) {
  Written all;
  const std::vector<std::string> accounts = on_all(o.sharing, [&] {
    all = write_shards(at, tensors, o);
    return o.sharing.size > 1 ? to_text(all) : std::string();
  });
  if (o.sharing.rank == 0)
    for (size_t r = 1; r < accounts.size(); ++r) add_text(all, accounts[r]);
  return all;
}

// The files about them.
void write_manifest(const std::string& at, const Manifest& manifest, Written all, const SaveOptions& o) {
  const std::string text = format_manifest({manifest, all.tensors});
  write_text(at + "/" + kManifestFile, text, o.hook);
  all.files[kManifestFile] = xxh64(text);
  write_text(at + "/" + kChecksumFile, format_checksums(all.files), o.hook);
  sync_directory(at, o.hook);
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
  const Sharing& sharing = options.sharing;
  const bool first = sharing.rank == 0;
  const std::string place = dir + "/" + iteration_name(manifest.iteration);
  std::string temporary;
  bool published = false;
  try {
    temporary = on_all(sharing, [&] {
      if (!first) return std::string();
      temporary = fmt::format("{}{}{}", place, kTemporary, ::getpid());
      make_directories(dir, hook);
      remove_tree(temporary, hook);
      make_directories(temporary, hook);
      return temporary;
    })[0];
    Written written = write_tensors(temporary, tensors, options);
    on_all(sharing, [&] {
      if (!first) return "";
      write_manifest(temporary, manifest, std::move(written), options);
      publish(temporary, place, options);
      published = true;
      sync_directory(dir, hook);
      replace_text(dir + "/" + kLatestFile, std::to_string(manifest.iteration), hook);
      return "";
    });
  } catch (const std::exception& e) {
    std::error_code ignored;
    if (first && !published && !temporary.empty()) fs::remove_all(temporary, ignored);
    fail("[save] iteration {} was not saved: {}; earlier checkpoints are intact", manifest.iteration, e.what());
  }
  if (!first) return;
  try {
    remove_leftovers(dir, hook);
    remove_old_checkpoints(dir, manifest.iteration, options);
  } catch (const std::exception& e) {
    log::warn("[save] iteration {} is saved, but an old checkpoint could not be removed: {}", manifest.iteration,
              e.what());
  }
}

}  // namespace megalith
