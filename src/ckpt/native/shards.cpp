#include "ckpt/native/shards.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/in_parallel.h"

namespace megalith {
namespace {

// The name in the file: a tensor's own, and with its offset where it is a block.
std::string key_of(const SaveTensor& t) {
  return global_shape(t) == t.shape ? t.name : fmt::format("{}@{}", t.name, fmt::join(block_offset(t), ","));
}

// The files that one rank, or all of them together, have written.
struct Written {
  std::vector<CheckpointTensor> tensors;
  std::map<std::string, u64> files, headers;  // checksums
  std::unordered_map<std::string, std::size_t> index{};

  void add_block(const CheckpointTensor& like, TensorBlock block) {
    const auto [it, added] = index.emplace(like.name, tensors.size());
    if (added) tensors.push_back({like.name, like.dtype, like.shape, {}});
    CheckpointTensor& t = tensors[it->second];
    check(t.shape == like.shape && t.dtype == like.dtype,
          "[save] the blocks of tensor {} disagree about its shape or type", t.name);
    t.blocks.push_back(std::move(block));
  }
  void add(Written&& other) {
    files.merge(other.files), headers.merge(other.headers);
    for (CheckpointTensor& t : other.tensors)
      for (TensorBlock& b : t.blocks) add_block(t, std::move(b));
  }
};

// Writes them and returns their xxh64, a range at a time: the copied data is in the core's cache when the file's
// checksum and this one read it.
u64 write_summed(SafetensorsWriter& writer, std::span<const std::byte> bytes) {
  constexpr std::size_t kStretch = std::size_t{64} << 10;
  Xxh64 sum;
  while (!bytes.empty()) {
    const std::span stretch = bytes.first(std::min(bytes.size(), kStretch));
    writer.write(stretch);
    sum.add(stretch);
    bytes = bytes.subspan(stretch.size());
  }
  return sum.value();
}

// One file of tensors, durable when it returns.
Written write_shard(const std::string& at, const std::string& file, const std::vector<const SaveTensor*>& tensors,
                    const StepHook& hook) {
  Written w;
  std::vector<TensorSpec> specs;
  std::map<std::string, const SaveTensor*> by_key;
  for (const SaveTensor* t : tensors) {
    check(global_shape(*t).size() == t->shape.size() && block_offset(*t).size() == t->shape.size(),
          "[save] tensor {}: shape {}, global shape {}, offset {}", t->name, to_string(t->shape),
          to_string(global_shape(*t)), to_string(block_offset(*t)));
    specs.push_back({key_of(*t), t->dtype, t->shape});
    by_key[specs.back().name] = t;
  }
  SafetensorsWriter writer(at + "/" + file, std::move(specs), {}, hook);
  w.headers[file] = writer.checksum();
  std::map<std::string, std::vector<u64>> checksums;
  std::vector<std::byte> piece;
  for (const TensorSpec& spec : writer.tensors()) {
    std::vector<u64>& sums = checksums[spec.name];
    for_chunks(*by_key.at(spec.name), piece,
               [&](std::span<const std::byte> bytes) { sums.push_back(write_summed(writer, bytes)); });
  }
  writer.finish();
  for (const SaveTensor* t : tensors)
    w.add_block({t->name, t->dtype, global_shape(*t), {}},
                {file, key_of(*t), block_offset(*t), t->shape, kChunkBytes, std::move(checksums.at(key_of(*t)))});
  w.files[file] = writer.checksum();
  return w;
}

// A rank's report of its files, as text for the first rank, which makes the manifest of all reports.
std::string to_text(const Written& w) { return format_manifest({{}, w.tensors, w.headers, w.files}); }

Written from_text(const std::string& text) {
  ManifestFile file = parse_manifest(text, "another rank's account", false);
  Written w;
  w.tensors = std::move(file.tensors), w.headers = std::move(file.headers), w.files = std::move(file.files);
  return w;
}

}  // namespace

Shape global_shape(const SaveTensor& t) { return t.global_shape.empty() ? t.shape : t.global_shape; }
Shape block_offset(const SaveTensor& t) { return t.offset.empty() ? Shape(t.shape.size(), 0) : t.offset; }

void for_chunks(const SaveTensor& t, std::vector<std::byte>& piece,
                const std::function<void(std::span<const std::byte>)>& f) {
  const i64 elements = count(t.shape), size = size_of(t.dtype), most = kChunkBytes / size;
  for (i64 begin = 0; begin < elements; begin += most) {
    const i64 n = std::min(most, elements - begin);
    if (t.fill) {
      piece.resize(std::size_t(n * size));
      t.fill(begin, n, piece.data());
      f(piece);
    } else {
      f(std::span(static_cast<const std::byte*>(t.data) + begin * size, std::size_t(n * size)));
    }
  }
}

std::vector<std::vector<const SaveTensor*>> split_by_size(std::span<const SaveTensor> tensors, int parts) {
  std::vector<std::size_t> order(tensors.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto bytes = [&](std::size_t i) { return bytes_of(tensors[i]); };
  std::ranges::stable_sort(order, std::greater<>(), bytes);
  std::vector<i64> load(std::size_t(parts), 0);
  std::vector<std::vector<std::size_t>> chosen(load.size());
  for (const std::size_t i : order) {
    const auto emptiest = std::size_t(std::ranges::min_element(load) - load.begin());
    load[emptiest] += bytes(i), chosen[emptiest].push_back(i);
  }
  std::vector<std::vector<const SaveTensor*>> out;
  for (std::vector<std::size_t>& part : chosen) {
    std::ranges::sort(part);
    std::vector<const SaveTensor*>& list = out.emplace_back();
    for (const std::size_t i : part) list.push_back(&tensors[i]);
  }
  return out;
}

std::string ShardWriter::write(const std::string& at) {
  const bool one = options_.writers == 1;
  const auto parts = split_by_size(tensors_, options_.writers);
  std::vector<Written> written(parts.size());
  in_parallel(options_.writers, [&](int w) {
    const std::vector<const SaveTensor*>& mine = parts[std::size_t(w)];
    if (mine.empty() && (w > 0 || rank_ > 0)) return;
    const std::string part = one ? "" : fmt::format("_{}", w);
    written[std::size_t(w)] =
        write_shard(at, fmt::format("shard_{:05}{}.safetensors", rank_, part), mine, options_.hook);
  });
  Written all;
  for (Written& w : written) all.add(std::move(w));
  return to_text(all);
}

void ShardWriter::describe(const std::string& at, const std::vector<std::string>& accounts) {
  Written all;
  for (const std::string& account : accounts) all.add(from_text(account));
  const std::string text = format_manifest({manifest_, all.tensors, all.headers, all.files});
  write_text(at + "/" + kManifestFile, text, options_.hook);
  all.files[kManifestFile] = xxh64(text);
  write_text(at + "/" + kChecksumFile, format_checksums(all.files), options_.hook);
  sync_directory(at, options_.hook);
}

}  // namespace megalith
