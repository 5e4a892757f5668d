#include "ckpt/torch/legacy_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "base/parse_count.h"
#include "ckpt/tensors/files.h"
#include "ckpt/torch/megatron_mapping.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRankFolder = "mp_rank_";
constexpr std::string_view kLegacyLayers = "decoder.layers.";
constexpr int kMaxDictDepth = 8;           // of nested dicts
constexpr i64 kMaxEntries = i64{1} << 20;  // of all a model's dicts, one of which a file may name many times

std::optional<i64> read_number(std::string_view text) {
  const auto value = parse_count(text);
  return value < 100000 ? value : std::nullopt;
}

// Parses mp_rank_TT with one or two further numbers; none: another name.
std::vector<i64> read_numbers(const std::string& name, const std::string& dir) {
  if (!name.starts_with(kRankFolder)) return {};
  std::vector<i64> numbers;
  std::string_view rest = std::string_view(name).substr(kRankFolder.size());
  for (std::size_t bar = 0; bar != rest.npos; rest.remove_prefix(bar == rest.npos ? 0 : bar + 1)) {
    bar = rest.find('_');
    const auto number = read_number(rest.substr(0, bar));
    check(number && numbers.size() < 3,
          "[load] {}/{}: tensor, pipeline and expert ranks are read, mp_rank_TT[_PPP][_EEE]", dir, name);
    numbers.push_back(*number);
  }
  return numbers;
}

// The second of two numbers is an expert-parallel rank if the arguments have no pipeline stages.
bool has_expert_ranks(const std::string& folder) {
  const std::string path = folder + kLegacyFile;
  if (!fs::exists(path)) return false;
  const ReadFile read(path);
  const TorchFile file{FileRange(read), "[load] " + path};
  const PickleValue* args = file.root().find("args");
  const PickleValue* ranks = args == nullptr ? nullptr : args->find("expert_model_parallel_size");
  const PickleValue* stages = args == nullptr ? nullptr : args->find("pipeline_model_parallel_size");
  const auto several = [](const PickleValue* v) {
    return v != nullptr && v->kind == PickleValue::Kind::integer && v->integer > 1;
  };
  return several(ranks) && !several(stages);
}

// "decoder.layers.3.mlp..." -> 3.
std::optional<i64> layer_of(const std::string& name) {
  if (!name.starts_with(kLegacyLayers)) return std::nullopt;
  const std::string rest = name.substr(kLegacyLayers.size());
  return read_number(rest.substr(0, rest.find('.')));
}

std::string renumber(const std::string& name, i64 layer) {
  const auto dot = name.find('.', kLegacyLayers.size());
  return fmt::format("{}{}{}", kLegacyLayers, layer, name.substr(dot));
}

}  // namespace

std::map<LegacyRank, std::string> legacy_folders(const std::string& dir) {
  std::vector<std::pair<std::vector<i64>, std::string>> found;
  for (const std::string& name : list_directory(dir))
    if (const auto numbers = read_numbers(name, dir); !numbers.empty())
      found.emplace_back(numbers, (fs::path(dir) / name).string());
  check(!found.empty(), "[load] {} holds no mp_rank_* directory", dir);
  const bool expert = found.front().first.size() == 2 && has_expert_ranks(found.front().second);
  std::map<LegacyRank, std::string> places;
  LegacyRank last;
  for (auto& [n, path] : found) {
    const bool two = n.size() == 2;
    const LegacyRank rank{n[0], n.size() == 1 || (two && expert) ? 0 : n[1],
                          n.size() == 3 || (two && expert) ? n.back() : 0};
    places[rank] = path;
    last = {std::max(last.tensor, rank.tensor), std::max(last.pipeline, rank.pipeline),
            std::max(last.expert, rank.expert)};
  }
  const i64 ranks = last.tensor + 1, stages = last.pipeline + 1, of_experts = last.expert + 1;
  check(i64(places.size()) == ranks * stages * of_experts, "[load] {} has files of {} of {} x {}{} ranks", dir,
        places.size(), ranks, stages, of_experts > 1 ? fmt::format(" x {}", of_experts) : "");
  return places;
}

void LegacyParams::flatten(const RankFile& file, const PickleValue& value, const std::string& name, int depth,
                           Found& found) const {
  check(depth < kMaxDictDepth, "{}: its model is nested too deep", file.file.zip().where());
  value.for_entries([&](const PickleValue& key, const PickleValue& item) {
    check(++found.entries <= kMaxEntries, "{}: its model has more than {} entries", file.file.zip().where(),
          kMaxEntries);
    if (key.kind != PickleValue::Kind::text || key.text.ends_with("_extra_state")) return;
    const std::string full = name.empty() ? key.text : name + "." + key.text;
    if (item.is_dict()) return flatten(file, item, full, depth + 1, found);
    auto tensor = file.file.tensor(item, full);
    if (!tensor) return;
    const std::string known = canonical_megatron_name(full, found.has_encoder), where = file.file.zip().where();
    for (NamedTorchTensor& t : found.experts.split(known, *tensor, found.expert_rank, where)) {
      check(found.names.insert(t.name).second, "{}: its model has {} twice", where, t.name);
      found.model.push_back({std::move(t.name), {std::move(t.tensor), file.number}});
    }
  });
}

std::unique_ptr<TorchFile> LegacyParams::open(const std::string& path, std::size_t& number) {
  check(fs::exists(path), "[load] {} is missing", path);
  number = store_.add_file(path);
  auto file = std::make_unique<TorchFile>(FileRange(store_.file(number)), "[load] " + path);
  sums_.add(file->zip());
  return file;
}

std::vector<RankModel*> LegacyParams::read(const LegacyRank& rank, const RankFile& file, const LegacyExperts& experts) {
  std::vector<RankModel*> chunks;
  for (i64 stage = -1; stage < 1000; ++stage) {
    const PickleValue* model = file.file.root().find(stage < 0 ? "model" : "model" + std::to_string(stage));
    if (model == nullptr && stage >= 0) break;
    if (model == nullptr) continue;
    RankModel& chunk = chunks_[{std::max<i64>(stage, 0), rank.pipeline}][{rank.tensor, rank.expert}];
    Found found{chunk, experts, rank.expert};
    model->for_entries([&](const PickleValue& key, const PickleValue&) {
      found.has_encoder |= key.text.find(".cross_attention.linear_q.") != std::string::npos;
    });
    flatten(file, *model, "", 0, found);
    chunks.push_back(&chunk);
  }
  check(!chunks.empty(), "{} holds no model", file.file.zip().where());
  return chunks;
}

// Names have become those of a decoder, as old files of one say "encoder".
template <class Parts>
static std::map<std::string, Parts> with_own_stack(std::map<std::string, Parts> all) {
  constexpr std::string_view kDecoder = "decoder.";
  if (!all.contains(kBertHead)) return all;
  std::map<std::string, Parts> out;
  for (auto& [name, parts] : all)
    out.emplace(name.starts_with(kDecoder) ? "encoder." + name.substr(kDecoder.size()) : name, std::move(parts));
  return out;
}

std::map<std::string, LegacyParams::Parts> LegacyParams::finish() const {
  std::map<std::string, Parts> all;
  i64 first_layer = 0;
  for (const auto& [chunk, ranks] : chunks_) {
    std::set<i64> layers;
    for (const auto& [rank, params] : ranks)
      for (const RankParam& p : params) {
        const auto layer = layer_of(p.name);
        if (layer) layers.insert(*layer);
        // A stage's copy of what an earlier one has (a tied embedding) is not taken again.
        all[layer ? renumber(p.name, first_layer + *layer) : p.name].emplace(rank.first, p);
      }
    const i64 last = layers.empty() ? -1 : *layers.rbegin();
    check(last + 1 == i64(layers.size()), "[load] {}: a stage has layers up to {}, not {}", dir_, last, layers.size());
    first_layer += last + 1;
  }
  return with_own_stack(std::move(all));
}

}  // namespace megalith
