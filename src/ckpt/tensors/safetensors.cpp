#include "ckpt/tensors/safetensors.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>

#include "base/check.h"
#include "base/parse_json.h"
#include "ckpt/not_loadable.h"
#include "ckpt/tensors/safetensors_header.h"
#include "ckpt/tensors/strided.h"

namespace megalith {
namespace {

// The index's map from tensor to file, as pairs. File names must be plain: an index may not point out of its directory.
std::map<std::string, std::string> read_weight_map(const std::string& path) {
  const std::string text = read_text(path);
  const auto root = parse_json<nlohmann::json>(text);
  const bool good = root.is_object() && root.contains("weight_map") && root["weight_map"].is_object();
  check(good, "[safetensors] {} is not a safetensors index: want a JSON object with weight_map", path);
  std::map<std::string, std::string> result;
  for (const auto& [name, file] : root["weight_map"].items()) {
    check(file.is_string(), "[safetensors] {}: the file of \"{}\" is {}: want a string", path, name, file.dump());
    const auto plain = file.get<std::string>();
    check(!plain.empty() && plain.find('/') == std::string::npos && plain != "." && plain != "..",
          "[safetensors] {}: the file of \"{}\" is \"{}\": want a name in the same directory", path, name, plain);
    result[name] = plain;
  }
  check(!result.empty(), "[safetensors] {} lists no tensors", path);
  return result;
}

std::map<std::string, std::string> with_format(std::map<std::string, std::string> metadata) {
  metadata.emplace("format", "pt");  // transformers refuses files without it
  return metadata;
}

std::vector<TensorSpec> in_file_order(std::vector<TensorSpec> tensors) {
  const auto key = [](const TensorSpec& t) {
    return std::pair<int, std::string_view>(-safetensors_rank(t.dtype), t.name);
  };
  std::ranges::sort(tensors, {}, key);
  return tensors;
}

i64 bytes_of(const std::vector<TensorSpec>& tensors) {
  i64 bytes = 0;
  for (const TensorSpec& t : tensors) bytes += bytes_of(t);
  return bytes;
}

}  // namespace

void TensorFiles::add_file(const std::string& path) {
  const bool is_first = files_.empty();
  const ReadFile& file = files_.try_emplace(path, path).first->second;
  SafetensorsHeader header = parse_safetensors_header(read_safetensors_header(file), file.size(), path);
  if (is_first) metadata_ = std::move(header.metadata);
  for (TensorInfo& t : header.tensors) {
    check(index_.emplace(t.name, tensors_.size()).second, "[safetensors] {}: tensor \"{}\" is in an earlier file too",
          path, t.name);
    tensors_.push_back(std::move(t));
  }
}

TensorFiles TensorFiles::open_file(const std::string& path) {
  TensorFiles result;
  result.where_ = path;
  result.add_file(path);
  return result;
}

TensorFiles TensorFiles::open_directory(const std::string& dir) {
  namespace fs = std::filesystem;
  const std::string single = dir + "/model.safetensors", index = dir + "/model.safetensors.index.json";
  if (fs::exists(single)) return open_file(single);
  check(fs::exists(index), "[safetensors] {} has neither model.safetensors nor model.safetensors.index.json{}{}", dir,
        unfinished_download(dir),
        fs::exists(dir + "/pytorch_model.bin") || fs::exists(dir + "/pytorch_model.bin.index.json")
            ? "; its pytorch_model.bin must be saved as safetensors first"
            : "");
  TensorFiles result;
  result.where_ = dir;
  const auto map = read_weight_map(index);
  std::set<std::string> names;
  for (const auto& [name, file] : map) names.insert(file);
  for (const std::string& file : names) {
    check(fs::exists(dir + "/" + file), "[safetensors] {} lists {}, which is missing: download it{}", index, file,
          unfinished_download(dir));
    result.add_file(dir + "/" + file);
  }
  for (const auto& [name, file] : map) {
    const TensorInfo* t = result.find(name);
    check(t != nullptr && t->file == dir + "/" + file, "[safetensors] {}: {} does not hold tensor \"{}\"", index, file,
          name);
  }
  return result;
}

const TensorInfo* TensorFiles::find(const std::string& name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &tensors_[it->second];
}

const TensorInfo& TensorFiles::at(const std::string& name) const {
  const TensorInfo* t = find(name);
  check(t != nullptr, "[safetensors] {} has no tensor \"{}\"", where_, name);
  return *t;
}

void TensorFiles::read(const TensorInfo& tensor, i64 offset, std::span<std::byte> out) const {
  check(offset >= 0 && offset <= tensor.bytes && i64(out.size()) <= tensor.bytes - offset,
        "[safetensors] {}: tensor \"{}\" has {} bytes, none from {} to {}", tensor.file, tensor.name, tensor.bytes,
        offset, offset + i64(out.size()));
  files_.at(tensor.file).read(tensor.offset + offset, out);
}

std::vector<std::byte> TensorFiles::read(const TensorInfo& tensor) const {
  std::vector<std::byte> out(static_cast<std::size_t>(tensor.bytes));
  read(tensor, 0, out);
  return out;
}

std::vector<float> TensorFiles::read_f32(const std::string& name) const {
  const TensorInfo& t = at(name);
  check(is_float(t.dtype()), "[safetensors] {}: tensor \"{}\" has type {}: want a floating-point type", t.file, t.name,
        t.stored_type);
  std::vector<float> out(std::size_t(count(t.shape)));
  unpack(Strides::flat(i64(out.size())), t.dtype(), read(t).data(), out.data());
  return out;
}

SafetensorsWriter::SafetensorsWriter(const std::string& path, std::vector<TensorSpec> tensors,
                                     std::map<std::string, std::string> metadata, StepHook hook)
    : path_(path), tensors_(in_file_order(std::move(tensors))), file_(path, std::move(hook), bytes_of(tensors_)) {
  std::set<std::string_view> names;
  for (const TensorSpec& t : tensors_)
    check(t.name != "__metadata__" && names.insert(t.name).second, "[safetensors] {}: tensor \"{}\" is given twice",
          path, t.name);
  const std::string header = format_safetensors_header(tensors_, with_format(std::move(metadata)));
  file_.write(std::as_bytes(std::span(header)));
  end_ = i64(header.size()) + bytes_of(tensors_);
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) { file_.write(bytes); }

void SafetensorsWriter::finish() {
  check(file_.size() == end_, "[safetensors] {}: {} bytes written, its header says {}", path_, file_.size(), end_);
  file_.sync();
}

}  // namespace megalith
