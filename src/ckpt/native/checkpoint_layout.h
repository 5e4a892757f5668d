// Names and texts of a native checkpoint's parts, shared by saving and loading.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "ckpt/native/checkpoint.h"

namespace megalith {

inline constexpr const char* kLatestFile = "latest_checkpointed_iteration.txt";
inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kChecksumFile = "checksums.txt";

// Damaged files throw it: loading may use another checkpoint.
struct DamagedCheckpoint : Error {
  using Error::Error;
};

// Made by a later version of the program: no reason to go back to an older checkpoint.
struct NewerCheckpoint : Error {
  using Error::Error;
};

inline constexpr i64 kChunkBytes = i64{4} << 20;  // bytes of one checksum

struct ManifestFile {
  Manifest manifest;
  std::vector<CheckpointTensor> tensors;
  std::map<std::string, u64> headers{}, files{};  // xxh64 of the shards' headers, and of all of them
};

std::string format_manifest(const ManifestFile& file);
// DamagedCheckpoint if the text is not a manifest; NewerCheckpoint if a later version wrote it. `whole`: the blocks
// must cover all tensors.
ManifestFile parse_manifest(const std::string& text, const std::string& path, bool whole = true);

std::string format_checksums(const std::map<std::string, u64>& checksums);  // file name -> xxh64

std::string iteration_name(i64 iteration);                         // iter_0000010
std::optional<i64> parse_iteration_name(const std::string& name);  // of a complete checkpoint's directory

struct FoundCheckpoint {
  i64 iteration = 0;
  std::string path;
};
// Complete checkpoints, by ascending iteration; empty if the directory does not exist.
std::vector<FoundCheckpoint> list_checkpoints(const std::string& dir);

// A complete directory that an interrupted replacement renamed: iter_0000010.replaced-PID.
inline constexpr const char* kReplaced = ".replaced-";
inline constexpr const char* kTemporary = ".tmp-";
// The original name of this directory, without the mark and the process number. None: the name has another form.
struct MarkedName {
  std::string place;  // without it
  std::string pid;
  bool is_temporary;
};
std::optional<MarkedName> parse_marked_name(const std::string& name);

}  // namespace megalith
