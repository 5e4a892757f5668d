// Reads blocks of checkpoint tensors, and names the damaged part of a file.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/check.h"
#include "base/log.h"
#include "base/read_error.h"
#include "ckpt/any_checkpoint.h"
#include "ckpt/native/checkpoint.h"
#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/native/save_directory.h"
#include "ckpt/native/shards.h"
#include "ckpt/tensors/safetensors_header.h"

namespace megalith {
namespace {

template <class... A>
void check_whole(bool ok, fmt::format_string<A...> text, A&&... args) {
  if (!ok) throw DamagedCheckpoint(fmt::format(text, std::forward<A>(args)...));
}

bool is_whole(const TensorFiles& files, const TensorInfo& stored, const TensorBlock& b) {
  std::vector<std::byte> chunk;
  for (std::size_t k = 0; k < b.checksums.size(); ++k) {
    const i64 begin = i64(k) * b.chunk_bytes;
    chunk.resize(std::size_t(std::clamp<i64>(stored.bytes - begin, 0, b.chunk_bytes)));
    files.read(stored, std::min(begin, stored.bytes), chunk);
    if (xxh64(chunk) != b.checksums[k]) return false;
  }
  return true;
}

// The damaged part of a file with a wrong checksum, as far as it can be found.
std::string find_damage(const std::string& path, const std::string& file,
                        const std::vector<CheckpointTensor>& tensors) {
  try {
    const TensorFiles content = TensorFiles::open_file(path);
    for (const CheckpointTensor& t : tensors)
      for (const TensorBlock& b : t.blocks) {
        const TensorInfo* stored = b.file == file ? content.find(b.key) : nullptr;
        if (stored != nullptr && !is_whole(content, *stored, b)) return "tensor " + t.name;
      }
    return fmt::format("its header, or {}", kChecksumFile);
  } catch (const Error& e) {
    return e.what();
  }
}

std::vector<std::string> listed_files(std::string_view checksums) {
  constexpr std::size_t kName = 18;  // after 16 digits and two spaces
  std::vector<std::string> names;
  while (!checksums.empty()) {
    const std::string_view line = checksums.substr(0, checksums.find('\n'));
    if (line.size() > kName) names.emplace_back(line.substr(kName));
    checksums.remove_prefix(std::min(checksums.size(), line.size() + 1));
  }
  return names;
}

// checksums.txt must be exactly the text for the current files.
void verify_files(const std::string& path, const std::string& checksums, const std::vector<CheckpointTensor>& tensors) {
  std::set<std::string> files = {kManifestFile};
  for (const CheckpointTensor& t : tensors)
    for (const TensorBlock& b : t.blocks) files.insert(b.file);
  std::map<std::string, u64> actual;
  for (const std::string& name : listed_files(checksums)) {
    check_whole(files.contains(name) || file_exists(path + "/" + name), "{}/{} is damaged: no file has the name {}",
                path, kChecksumFile, name);
    actual[name] = xxh64_of_file(path + "/" + name);
    const bool same = checksums.find(format_checksums({{name, actual[name]}})) != std::string::npos;
    check_whole(same, "{}/{} is damaged: wrong checksum; {}", path, name,
                same ? "" : find_damage(path + "/" + name, name, tensors));
  }
  check_whole(checksums == format_checksums(actual), "{}/{} is damaged", path, kChecksumFile);
}

}  // namespace

Checkpoint Checkpoint::open_directory(const std::string& path, const OpenOptions& options) {
  Checkpoint c;
  c.path_ = path;
  c.mark_ = ReadMark(path);
  try {
    const std::string text = read_text(path + "/" + kManifestFile);
    const std::string checksums = read_text(path + "/" + kChecksumFile);
    check_whole(checksums.find(format_checksums({{kManifestFile, xxh64(text)}})) != std::string::npos,
                "{}/{}, or its line in {}, is damaged: wrong checksum", path, kManifestFile, kChecksumFile);
    ManifestFile file = parse_manifest(text, path + "/" + kManifestFile, options.whole);
    if (!file.files.empty()) {
      file.files[kManifestFile] = xxh64(text);
      check_whole(checksums == format_checksums(file.files), "{}/{} is damaged: it is not what {} says", path,
                  kChecksumFile, kManifestFile);
    }
    if (options.verify) verify_files(path, checksums, file.tensors);
    c.manifest_ = std::move(file.manifest);
    c.tensors_ = std::move(file.tensors);
    c.stretches_ = std::make_shared<BlockPool>(BlockFile::kStretch + BlockPool::kBlock);
    c.open_blocks(file.headers, options.past_cache);
  } catch (const NewerCheckpoint&) {
    throw;
  } catch (const Error& e) {
    throw DamagedCheckpoint(e.what());
  }
  return c;
}

Checkpoint::File::File(const std::string& path, BlockPool& stretches, bool past_cache, std::optional<u64> header_sum)
    : bytes(path, stretches, past_cache) {
  const std::vector<std::byte> header = read_safetensors_header(bytes.bytes());
  check(!header_sum || xxh64(header) == *header_sum, "{} is damaged: wrong checksum; its header", path);
  for (const TensorInfo& t : parse_safetensors_header(header, bytes.bytes().size(), path).tensors)
    tensors.emplace(t.name, t);
}

// Each block must be in its file with the type and shape that the manifest gives.
void Checkpoint::open_blocks(const std::map<std::string, u64>& headers, bool past_cache) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const CheckpointTensor& t = tensors_[i];
    index_[t.name] = i;
    for (const TensorBlock& b : t.blocks) {
      const std::string path = path_ + "/" + b.file;
      std::shared_ptr<const File>& file = files_[b.file];
      if (!file) {
        const auto sum = headers.find(b.file);
        file = std::make_shared<File>(path, *stretches_, past_cache,
                                      sum == headers.end() ? std::nullopt : std::optional(sum->second));
      }
      const auto stored = file->tensors.find(b.key);
      check(stored != file->tensors.end() && stored->second.dtype() == t.dtype && stored->second.shape == b.shape,
            "{}: tensor {} is not what {} says", path, b.key, kManifestFile);
    }
  }
}

// The first that is whole.
Checkpoint Checkpoint::open_first(const std::string& dir, const SaveDirectory& save, const OpenOptions& options) {
  const FoundCheckpoint& first = save.first();
  const FoundCheckpoint& newest = std::ranges::max(save.candidates, {}, &FoundCheckpoint::iteration);
  if (options.tells && newest.iteration > first.iteration)
    log::warn("[load] {} names iteration {}, although {} is there too", kLatestFile, first.iteration, newest.path);
  std::string problems = save.tracker_problem;
  for (const FoundCheckpoint& c : save.candidates) {
    check(
        format_of_one(c.path).value_or(CkptFormat::native) == CkptFormat::native,
        "[load] {}; the one before it, {}, is Megatron's, which no run loads without the flag: give --ckpt-step {}, or "
        "that of another",
        problems.empty() ? dir + " holds checkpoints of two formats" : problems, c.path, c.iteration);
    try {
      Checkpoint result = Checkpoint::open_directory(c.path, options);
      check(options.or_older || &c == &first, "[load] {}; {} is whole: give that, or --ckpt-step {}", problems, c.path,
            c.iteration);
      if (options.tells && !problems.empty()) log::warn("[load] {}; loading {} instead", problems, c.path);
      result.passed_over_ = problems;
      return result;
    } catch (const DamagedCheckpoint& e) {
      problems += (problems.empty() ? "" : "; ") + std::string(e.what());
    }
  }
  fail("[load] {} has no complete checkpoint: {}", dir, problems);
}

Checkpoint open_checkpoint(const std::string& dir, const OpenOptions& options) {
  if (file_exists(dir + "/" + kManifestFile)) return Checkpoint::open_directory(dir, options);
  const SaveDirectory save =
      read_save_directory(dir, {.exactly = options.iteration, .no_later_than = options.no_later_than});
  return options.iteration ? Checkpoint::open_directory(save.first().path, options)
                           : Checkpoint::open_first(dir, save, options);
}

bool has_checkpoint(const std::string& dir) {
  return file_exists(dir + "/" + kManifestFile) || file_exists(dir + "/" + kLatestFile) ||
         !list_checkpoints(dir).empty();
}

}  // namespace megalith
