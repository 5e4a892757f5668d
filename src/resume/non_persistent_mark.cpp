#include "resume/non_persistent_mark.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/canonical_path.h"
#include "base/valid_utf8.h"
#include "ckpt/any_checkpoint.h"
#include "ckpt/native/checkpoint_layout.h"

namespace megalith {

namespace {

using nlohmann::json;

constexpr const char* kSavedBy = "saved_by";  // key in the training state

// Reads only the manifest: the checkpoint may have many files.
Manifest manifest_in(const std::string& path) {
  if (format_of_one(path).value_or(CkptFormat::native) != CkptFormat::native)
    throw NotOurNonPersistent(path + " is a checkpoint in Megatron's format, not a non-persistent one");
  const std::string text = read_text(path + "/" + kManifestFile), sums = read_text(path + "/" + kChecksumFile);
  check(sums.find(format_checksums({{kManifestFile, xxh64(text)}})) != std::string::npos, "{} is damaged", path);
  return parse_manifest(text, path, false).manifest;
}

}  // namespace

void mark_non_persistent(Manifest& copy, const NonPersistentMark& mark, const std::string& save) {
  json state = json::parse(copy.state_json);
  // Real paths, so the working directory does not matter.
  state[kSavedBy] = {{"start", mark.start}, {"rank", mark.rank}, {"save", canonical_path(save)}};
  copy.state_json = state.dump(2, ' ', false, json::error_handler_t::replace);
}

NonPersistentMark mark_of(const Manifest& copy, const std::string& path, const TrainConfig& train) {
  const json state = json::parse(copy.state_json);
  if (!state.contains(kSavedBy)) throw NotOurNonPersistent(path + " is a persistent checkpoint");
  try {
    const json& saved_by = state[kSavedBy];
    const std::string save = saved_by.at("save");
    // Checkpoints in --save belong to this run. The directory may have been renamed since, or may be reached through
    // a link. Both paths are compared as JSON stores them.
    if (!lies_in(path, train.save) && valid_utf8(canonical_path(save)) != valid_utf8(canonical_path(train.save)))
      throw NotOurNonPersistent(fmt::format("{} belongs to another run, with --save {}", path, save));
    return {saved_by.at("start"), saved_by.at("rank")};
  } catch (const json::exception&) {
    throw NotOurNonPersistent(path + " does not name its run");
  }
}

bool is_our_non_persistent(const std::string& path, const TrainConfig& train) {
  try {
    mark_of(manifest_in(path), path, train);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

void check_our_non_persistent(const std::string& flag, const std::string& dir, const TrainConfig& train) {
  for (const FoundCheckpoint& found : list_checkpoints(dir)) {
    try {
      mark_of(manifest_in(found.path), found.path, train);
    } catch (const NotOurNonPersistent& e) {
      fail(
          "{} {}: {}: only the latest non-persistent checkpoint is kept, so choose another directory, or delete this "
          "one",
          flag, dir, e.what());
    } catch (const Error&) {  // damaged: the load reports it
    }
  }
}

}  // namespace megalith
