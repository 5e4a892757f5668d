#include "ckpt/not_loadable.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace megalith {

namespace fs = std::filesystem;

namespace {

// The first file there whose name ends so; empty if there is none.
std::string first_ending(const fs::path& dir, std::string_view ending) {
  std::error_code error;
  std::string first;
  for (const auto& entry : fs::directory_iterator(dir, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(ending) && (first.empty() || name < first)) first = name;
  }
  return first;
}

bool holds(const std::string& dir, const char* name) {
  std::error_code error;
  return fs::exists(fs::path(dir) / name, error);
}

// ORG/NAME, the form of names on the Hugging Face hub, if there is no folder ORG.
bool may_be_on_hub(const std::string& dir) {
  const fs::path path(dir);
  std::error_code error;
  return std::ranges::count(dir, '/') == 1 && dir.front() != '/' && dir.back() != '/' && dir.front() != '.' &&
         !fs::exists(path.parent_path(), error);
}

// DeepSpeed's names an iteration's folder in a file `latest`; such a folder holds a file of states for each rank.
bool is_of_deepspeed(const std::string& dir) {
  return (holds(dir, "latest") && !holds(dir, "latest_checkpointed_iteration.txt")) ||
         !first_ending(dir, "_model_states.pt").empty();
}

}  // namespace

std::string unfinished_download(const std::string& dir) {
  for (const char* place : {"", ".cache/huggingface/download"})
    if (const std::string part = first_ending(fs::path(dir) / place, ".incomplete"); !part.empty())
      return fmt::format("; a download of it was not finished ({}): start it again", part);
  return {};
}

std::string model_below(const std::string& dir) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dir, error))
    if (entry.is_directory(error) && (fs::exists(entry.path() / "config.json", error) ||
                                      fs::exists(entry.path() / "latest_checkpointed_iteration.txt", error)))
      return entry.path().string();
  return {};
}

std::string why_not_loadable(const std::string& dir) {
  std::error_code error;
  if (!fs::exists(dir, error))
    return fmt::format("{}: no such directory{}", dir,
                       may_be_on_hub(dir) ? fmt::format("; if it is a model on the hub, fetch it by `hf download {} "
                                                        "--local-dir {}` and give that directory",
                                                        dir, fs::path(dir).filename().string())
                                          : "");
  if (fs::is_empty(dir, error)) return fmt::format("{} is empty: give the directory of a checkpoint or a model", dir);
  if (const std::string of_others = weights_of_others(dir); !of_others.empty()) return of_others;
  const std::string below = model_below(dir);
  return fmt::format("{}: neither a checkpoint nor a Hugging Face model (config.json) was found{}{}", dir,
                     below.empty() ? "" : fmt::format("; {} holds one", below), unfinished_download(dir));
}

std::string weights_of_others(const std::string& dir) {
  if (holds(dir, "adapter_config.json"))
    return fmt::format("{} holds an adapter (LoRA), not a model: merge it into its model first", dir);
  if (const std::string gguf = first_ending(dir, ".gguf"); !gguf.empty())
    return fmt::format("{} holds GGUF ({}), which is not read: give the Hugging Face directory of the model", dir,
                       gguf);
  if (const std::string nemo = first_ending(dir, ".nemo"); !nemo.empty() || holds(dir, "model_config.yaml"))
    return fmt::format("{} holds a model of NeMo, which is not read: give the Hugging Face directory of the model",
                       dir);
  if (const std::string meta = first_ending(dir, ".pth"); !meta.empty())
    return fmt::format("{} holds Meta's weights ({}), which are not read: give the Hugging Face directory of the model",
                       dir, meta);
  if (is_of_deepspeed(dir))
    return fmt::format(
        "{} holds a checkpoint of DeepSpeed, which is not read: make a Hugging Face directory or Megatron's checkpoint "
        "of it",
        dir);
  for (const char* ending : {".pt", ".ckpt", ".bin", ".h5", ".msgpack", ".npz"})
    if (const std::string name = first_ending(dir, ending); !name.empty())
      return fmt::format("{} holds {}, but no supported checkpoint or model: give its Hugging Face directory", dir,
                         name);
  return {};
}

}  // namespace megalith
