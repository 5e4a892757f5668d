#include "ckpt/torch/torch_legacy.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include "base/check.h"
#include "ckpt/torch/megatron_mapping.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLayers = "decoder.layers.";
constexpr int kMaxDepth = 8;  // of nested dicts

struct Rank {
  i64 tensor = 0, pipeline = 0;
  auto operator<=>(const Rank&) const = default;
};

std::optional<i64> read_number(std::string_view text) {
  i64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size() && value >= 0 && value < 100000;
  return good ? std::optional(value) : std::nullopt;
}

// mp_rank_TT or mp_rank_TT_PPP.
std::optional<Rank> read_rank(const std::string& name, const std::string& dir) {
  constexpr std::string_view kBegin = "mp_rank_";
  if (!name.starts_with(kBegin)) return std::nullopt;
  const std::string rest = name.substr(kBegin.size());
  const auto bar = rest.find('_');
  const auto tensor = read_number(rest.substr(0, bar));
  const auto pipeline = bar == std::string::npos ? std::optional<i64>(0) : read_number(rest.substr(bar + 1));
  check(tensor && pipeline, "[load] {}/{}: only tensor and pipeline ranks are read, mp_rank_TT or mp_rank_TT_PPP", dir,
        name);
  return Rank{*tensor, *pipeline};
}

struct Part {
  TorchTensor tensor;
  std::size_t file;
};

// Which axis tensor parallelism cuts; -1: every rank has the whole.
int cut_axis(const std::string& name) {
  for (const char* end : {".word_embeddings.weight", "output_layer.weight", ".linear_qkv.weight", ".linear_qkv.bias",
                          ".linear_fc1.weight", ".linear_fc1.bias"})
    if (name.ends_with(end)) return 0;
  return name.ends_with(".linear_proj.weight") || name.ends_with(".linear_fc2.weight") ? 1 : -1;
}

// "decoder.layers.3.mlp..." -> 3.
std::optional<i64> layer_of(const std::string& name) {
  if (!name.starts_with(kLayers)) return std::nullopt;
  const std::string rest = name.substr(kLayers.size());
  return read_number(rest.substr(0, rest.find('.')));
}

std::string renumber(const std::string& name, i64 layer) {
  const auto dot = name.find('.', kLayers.size());
  return fmt::format("{}{}{}", kLayers, layer, name.substr(dot));
}

// The tensors of all files by canonical name, with layers numbered as in the model.
class Collector {
 public:
  using Parts = std::map<i64, Part>;  // by tensor rank

  Collector(const std::string& dir, TensorStore& store, bool verify) : dir_(dir), store_(store), verify_(verify) {}

  std::unique_ptr<TorchFile> read(const Rank& rank, const std::string& path);
  std::map<std::string, Parts> finish() const;

 private:
  using Tensors = std::map<std::string, Part>;

  void flatten(const TorchFile& file, const PickleValue& value, const std::string& name, std::size_t number, int depth,
               Tensors& out) const;

  const std::string& dir_;
  TensorStore& store_;
  bool verify_;
  // By model chunk (virtual stage, pipeline rank), which is the order of the layers, then tensor rank.
  std::map<std::pair<i64, i64>, std::map<i64, Tensors>> chunks_;
};

void Collector::flatten(const TorchFile& file, const PickleValue& value, const std::string& name, std::size_t number,
                        int depth, Tensors& out) const {
  check(depth < kMaxDepth, "[load] {}: its model is nested too deep", file.zip().where());
  value.for_entries([&](const PickleValue& key, const PickleValue& item) {
    if (key.kind != PickleValue::Kind::text || key.text.ends_with("_extra_state")) return;
    const std::string full = name.empty() ? key.text : name + "." + key.text;
    if (item.is_dict()) return flatten(file, item, full, number, depth + 1, out);
    if (auto tensor = file.tensor(item)) out.emplace(canonical_megatron_name(full), Part{std::move(*tensor), number});
  });
}

std::unique_ptr<TorchFile> Collector::read(const Rank& rank, const std::string& path) {
  const std::size_t number = store_.add_file(path);
  auto file = std::make_unique<TorchFile>(std::as_bytes(store_.file(number).bytes()), "[load] " + path);
  if (verify_) file->verify([&](i64 begin, i64 bytes) { store_.file(number).release(begin, bytes); });
  bool found = false;
  for (i64 stage = -1; stage < 1000; ++stage) {  // "model", or "model0", "model1", ... with virtual stages
    const PickleValue* model = file->root().find(stage < 0 ? "model" : "model" + std::to_string(stage));
    if (model == nullptr && stage >= 0) break;
    if (model == nullptr) continue;
    flatten(*file, *model, "", number, 0, chunks_[{std::max<i64>(stage, 0), rank.pipeline}][rank.tensor]);
    found = true;
  }
  check(found, "[load] {} holds no model", path);
  return file;
}

std::map<std::string, Collector::Parts> Collector::finish() const {
  std::map<std::string, Parts> all;
  i64 first_layer = 0;
  for (const auto& [chunk, ranks] : chunks_) {
    std::set<i64> layers;
    for (const auto& [rank, tensors] : ranks)
      for (const auto& [name, part] : tensors) {
        const auto layer = layer_of(name);
        if (layer) layers.insert(*layer);
        // A stage's copy of what an earlier one has (a tied embedding) is not taken again.
        all[layer ? renumber(name, first_layer + *layer) : name].emplace(rank, part);
      }
    first_layer += i64(layers.size());
    check(layers.empty() || *layers.rbegin() == i64(layers.size()) - 1,
          "[load] {}: a stage has layers up to {}, not {}", dir_, *layers.rbegin(), layers.size());
  }
  return all;
}

void add_joined(TensorStore& store, const std::string& name, const Collector::Parts& parts, i64 ranks, bool gated) {
  const int axis = ranks == 1 ? -1 : cut_axis(name);
  const TorchTensor& first = parts.begin()->second.tensor;
  const std::string what = fmt::format("[load] {}: tensor {}", store.where(), name);
  TensorSpec spec{name, first.dtype(), first.shape};
  const auto box = [](const Part& p, Shape offset, Shape shape, i64 skipped) {
    return StoredBox{.offset = std::move(offset),
                     .shape = std::move(shape),
                     .strides = p.tensor.strides,
                     .file = p.file,
                     .position = p.tensor.position + skipped * size_of(p.tensor.dtype()),
                     .swapped = p.tensor.swapped};
  };
  const Shape zeros(first.shape.size(), 0);
  if (axis < 0) return store.add_tensor(spec, {box(parts.begin()->second, zeros, first.shape, 0)});
  const auto a = std::size_t(axis);
  check(i64(parts.size()) == ranks, "{} is in {} of {} tensor ranks' files", what, parts.size(), ranks);
  check(a < first.shape.size(), "{} has shape {}", what, to_string(first.shape));
  const bool halves = gated && name.find(".linear_fc1.") != std::string::npos;
  check(!halves || first.shape[a] % 2 == 0, "{} has {} rows: want gates and as many ups", what, first.shape[a]);
  const i64 rows = first.shape[a], half = halves ? rows / 2 : rows;
  spec.shape[a] = rows * ranks;
  std::vector<StoredBox> boxes;
  for (const auto& [rank, part] : parts) {
    check(part.tensor.shape == first.shape && part.tensor.type == first.type, "{} has shapes {} and {}", what,
          to_string(first.shape), to_string(part.tensor.shape));
    Shape offset = zeros, shape = first.shape;
    shape[a] = half;
    for (i64 k = 0; k < (halves ? 2 : 1); ++k) {  // the gates of all ranks, then their ups
      offset[a] = k * half * ranks + rank * half;
      boxes.push_back(box(part, offset, shape, k * half * part.tensor.strides[a]));
    }
  }
  store.add_tensor(std::move(spec), std::move(boxes));
}

bool flag(const PickleValue& args, std::string_view name) {
  const PickleValue* v = args.find(name);
  return v != nullptr && v->kind == PickleValue::Kind::boolean && v->integer != 0;
}

void check_version(const PickleValue& root, const std::string& dir) {
  const PickleValue* v = root.find("checkpoint_version");
  const double version = v == nullptr ? 0 : v->kind == PickleValue::Kind::integer ? double(v->integer) : v->real;
  check(version >= 2, "[load] {}: checkpoint_version {} orders queries, keys and values otherwise; 2 and 3 are read",
        dir, version);
}

}  // namespace

TorchLegacy::TorchLegacy(const std::string& dir, bool verify) : dir_(dir), store_(std::make_shared<TensorStore>(dir)) {
  std::map<Rank, std::string> files;
  for (const auto& entry : fs::directory_iterator(dir))
    if (const auto rank = read_rank(entry.path().filename().string(), dir))
      files[*rank] = entry.path().string() + "/model_optim_rng.pt";
  check(!files.empty(), "[load] {} holds no mp_rank_* directory", dir);
  Rank last;
  for (const auto& [rank, path] : files)
    last = {std::max(last.tensor, rank.tensor), std::max(last.pipeline, rank.pipeline)};
  const i64 ranks = last.tensor + 1;
  check(i64(files.size()) == ranks * (last.pipeline + 1), "[load] {} has files of {} of {} x {} ranks", dir,
        files.size(), ranks, last.pipeline + 1);
  Collector collector(dir_, *store_, verify);
  for (const auto& [rank, path] : files) {
    check(fs::exists(path), "[load] {} is missing", path);
    auto file = collector.read(rank, path);
    if (!common_) common_ = std::move(file);
  }
  check_version(common(), dir);
  const PickleValue* args = common().find("args");
  check(args != nullptr, "[load] {} holds no arguments", dir);
  const bool tied = !flag(*args, "untie_embeddings_and_output_weights");
  const bool gated = flag(*args, "swiglu") || flag(*args, "gated_linear_unit");
  for (const auto& [name, parts] : collector.finish())
    if (!(tied && name == "output_layer.weight")) add_joined(*store_, name, parts, ranks, gated);
}

bool is_torch_legacy(const std::string& dir) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dir, error))
    if (entry.path().filename().string().starts_with("mp_rank_")) return true;
  return false;
}

}  // namespace megalith
