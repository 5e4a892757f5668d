#include "observe/run_head.h"

#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/grouped.h"
#include "base/log.h"
#include "base/log_level.h"
#include "settings/batch_sizes.h"
#include "settings/precision.h"
#include "settings/schedules.h"
#include "step/model_size.h"

namespace megalith {
namespace {

constexpr std::size_t kWidth = 140, kLabel = 12;

// "8.03 billion"; small numbers in full.
std::string rounded(i64 n) {
  for (const auto& [unit, name] : {std::pair(1e12, "trillion"), {1e9, "billion"}, {1e6, "million"}})
    if (double(n) >= unit) return fmt::format("{:.3g} {}", double(n) / unit, name);
  return grouped(n);
}

// "1 rank", "12 ranks".
std::string counted(i64 n, const char* what) { return fmt::format("{} {}{}", grouped(n), what, n == 1 ? "" : "s"); }

// A field's value in the spelling of its flag.
std::string value_of(const Options& o, const char* field) {
  Options copy = o;
  config::FieldList fields = config::fields_of(copy);
  return fields.find(field)->text();
}

// "label       text", wrapped at blanks; continuation lines are indented to the text.
std::string line(const std::string& label, const std::string& text) {
  std::string out = fmt::format("{:<{}}", label, kLabel);
  std::size_t column = kLabel;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (column + end - at > kWidth && column > kLabel) {
      out.back() = '\n', out += std::string(kLabel, ' '), column = kLabel;
    }
    out += text.substr(at, end - at) + (end < text.size() ? " " : "");
    column += end - at + 1, at = end + 1;
  }
  return out + "\n";
}

std::string positions_text(const Options& o) {
  const bool learned = o.model.position_embedding_type == PositionEmbedding::learned_absolute;
  return learned ? "learned" : value_of(o, "position-embedding-type");
}

// ", 8 experts of 1408, 2 a token, in 58 layers".
std::string experts_text(const ModelConfig& m) {
  if (m.moe.num_experts == 0) return {};
  const std::vector<bool> mixtures = m.moe.pattern(m.num_layers);
  const i64 layers = std::ranges::count(mixtures, true);
  return fmt::format(", {} of {}, {} a token{}", counted(m.moe.num_experts, "expert"), m.expert_width(),
                     m.moe.router_topk, layers == m.num_layers ? "" : fmt::format(", in {}", counted(layers, "layer")));
}

std::string model_text(const Options& o) {
  const ModelConfig& m = o.model;
  const std::string groups =
      m.num_query_groups == m.num_attention_heads ? "" : fmt::format(" in {} groups", m.num_query_groups);
  return fmt::format("{} parameters: {}, hidden {}, {}{}, ffn {} ({}){}, {}, {} positions, vocabulary {}",
                     rounded(i64(size_of(*step_spec(o).model).parameters())), counted(m.num_layers, "layer"),
                     m.hidden_size, counted(m.num_attention_heads, "head"), groups, m.ffn_hidden_size,
                     value_of(o, "activation"), experts_text(m), value_of(o, "normalization"), positions_text(o),
                     grouped(m.vocab_size));
}

std::string layout_text(const Options& o, const RunFacts& f) {
  const ParallelConfig& p = o.parallel;
  std::vector<std::string> axes, more;
  const auto axis = [&](const char* name, i64 n) {
    if (n > 1) axes.push_back(fmt::format("{} {}", name, n));
  };
  axis("tensor", p.tensor_model_parallel_size), axis("pipeline", p.stages());
  axis("context", p.context_parallel_size), axis("data", p.data_parallel_size());
  const DType products = precision_of(o).products;
  const std::string how = products == DType::bf16 && !f.bf16_products.empty() ? " (" + f.bf16_products + ")" : "";
  more.push_back(fmt::format("computes in {}{}", name_of(products), how));
  if (p.sequence_parallel) more.push_back("sequence parallel");
  if (o.model.moe.num_experts > 0 && p.world_size > 1)
    more.push_back(fmt::format("experts {} x {}", p.expert_model_parallel_size, p.expert_tensor_size()));
  if (p.use_distributed_optimizer) more.push_back("distributed optimizer");
  if (o.recompute.granularity != RecomputeConfig::Granularity::none)
    more.push_back(value_of(o, "recompute-granularity") + " recomputation");
  if (o.offload.on) more.push_back("activation offloading");
  return fmt::format("{}{} on {}; {}", counted(p.world_size, "rank"),
                     axes.empty() ? "" : fmt::format(" ({})", fmt::join(axes, " x ")), f.device, fmt::join(more, ", "));
}

// "; linear layers: hybrid by the recipe tensorwise, weight gradients in bf16".
std::string quantize_text(const Options& o) {
  const QuantizeConfig& c = o.quantize;
  if (!c.on()) return {};
  std::string out = fmt::format("; linear layers: {} by the recipe {}",
                                value_of(o, c.is_fp4() ? "fp4-format" : "fp8-format"), name_of_recipe(c));
  if (!c.weight_gradients) out += fmt::format(", weight gradients in {}", name_of(precision_of(o).products));
  if (c.head == QuantizeConfig::Head::all) out += ", the head too";
  if (c.head == QuantizeConfig::Head::gradients) out += ", the head's gradients too";
  if (c.ends_in_bf16)
    out += fmt::format(", the first {} and the last {} layers in {}", c.layers_at_start, c.layers_at_end,
                       name_of(precision_of(o).products));
  return out;
}

std::string memory_text(const RunFacts& f, i64 ranks) {
  const auto mib = [](i64 bytes) { return grouped((bytes + (1 << 20) - 1) >> 20); };
  const std::string who = ranks == 1        ? "it"
                          : f.fullest_stage ? fmt::format("the fullest rank, of stage {},", *f.fullest_stage)
                                            : "the fullest rank";
  return fmt::format("{} needs {} MiB, {} MiB are available: {}", who, mib(f.needed_bytes), mib(f.available_bytes),
                     f.needed_bytes <= f.available_bytes ? "it fits" : "it does NOT fit");
}

std::string data_text(const Options& o) {
  const DataConfig& d = o.data;
  const auto list = [](const char* what, const std::vector<std::string>& words) {
    std::vector<std::string> names;
    for (const std::string& word : words)
      if (char* end = nullptr; std::strtod(word.c_str(), &end), *end != 0) names.push_back(word);  // no weight
    if (names.empty()) return std::string();
    return fmt::format("{}{}{}", what, names[0], names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "");
  };
  std::vector<std::string> parts;
  const std::string split = d.split.empty() ? "" : " (split " + d.split + ")";
  for (const std::string& part :
       {list("", d.data_path) + (d.data_path.empty() ? "" : split), list("train ", d.train_data_path),
        list("valid ", d.valid_data_path), list("test ", d.test_data_path), d.data_args_path})
    if (!part.empty()) parts.push_back(part);
  if (d.mock_data) parts.push_back("mock data");
  return parts.empty() ? "none named" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string batch_text(const Options& o) {
  const BatchSizes sizes(o);
  const i64 sequences = sizes.largest(), length = o.model.seq_length, micro = o.train.micro_batch_size;
  const i64 passes = sequences / std::max<i64>(1, micro * o.parallel.data_parallel_size());
  const std::string grows = sizes.change() ? fmt::format("grows from {} to ", grouped(sizes.at(0))) : "";
  return fmt::format("{}{} x {} = {} a step: micro-batches of {}, {} a rank", grows, counted(sequences, "sequence"),
                     grouped(length), counted(sequences * length, "token"), micro, grouped(passes));
}

std::string run_text(const Options& o, const RunFacts& f) {
  const i64 steps = std::max<i64>(0, f.train_iters - f.iteration);
  const BatchSizes sizes(o);
  const i64 samples = sizes.change() ? sizes.end(o.train, f.iteration, f.consumed_samples).consumed - f.consumed_samples
                                     : steps * sizes.largest();
  const i64 tokens = samples * o.model.seq_length;
  if (steps == 0)
    return fmt::format("nothing is left: {} are done, from {}", counted(f.iteration, "iteration"), f.from);
  return fmt::format("iterations {} to {}, {} tokens, from {}", grouped(f.iteration + 1), grouped(f.train_iters),
                     rounded(tokens), f.from.empty() ? "random weights" : f.from);
}

std::string optimizer_text(const Options& o) {
  const OptimizerConfig& c = o.optimizer;
  const std::string end = c.lr_decay_style == LrDecayStyle::constant ? "" : fmt::format(" to {:g}", c.min_lr);
  return fmt::format("{}, learning rate {:g}, {}{}; weight decay {:g}, gradients clipped at {:g}",
                     value_of(o, "optimizer"), c.lr, value_of(o, "lr-decay-style"), end, c.weight_decay, c.clip_grad);
}

std::string save_text(const TrainConfig& t) {
  if (t.save.empty()) return "nowhere: nothing is kept without --save";
  const std::string every = t.save_interval == 1 ? "iteration" : grouped(t.save_interval) + " iterations";
  const std::string when = t.save_interval == kAutoSaveInterval ? "as often as costs least and "
                           : t.save_interval > 0                ? "every " + every + " and "
                                                                : "";
  return t.save + ", " + when + "at the end";
}

std::string arguments_line(const RunFacts& f) {
  return f.arguments.empty() ? "all of them: --log-level debug" : "all of them: " + f.arguments;
}

}  // namespace

void say_notes(const Options& o) {
  const LogLevel level = o.train.log_level;
  if (level == LogLevel::error) log::silence_warnings();
  if (level == LogLevel::debug) log::say("{}", arguments_text(o));
  for (const std::string& note : o.notes) {
    if (note.starts_with(kDifference)) continue;  // already in the head
    if (level <= LogLevel::info || (level == LogLevel::warning && note.starts_with("warning"))) log::say("{}", note);
  }
  const std::string map = rank_map(mesh_of(o.parallel, o.model));
  if (level == LogLevel::debug && !map.empty()) log::say("{}", map);
}

// If all is f32, the layout line already says so.
static std::string precision_line(const Options& o) {
  const Precision precision = precision_of(o);
  return precision == Precision{} ? "" : line("precision", to_string(precision) + quantize_text(o));
}

std::string run_head(const Options& o, const RunFacts& f) {
  std::string out = line("model", model_text(o)) + line("layout", layout_text(o, f)) + precision_line(o) +
                    (f.codes.empty() ? "" : line("codes", f.codes)) +
                    line("memory", memory_text(f, o.parallel.world_size)) + line("data", data_text(o)) +
                    line("batch", batch_text(o)) + line("run", run_text(o, f)) + line("optimizer", optimizer_text(o)) +
                    line("save", save_text(o.train)) + line("arguments", arguments_line(f));
  std::vector<std::string> differences;
  for (const std::string& note : o.notes)
    if (note.starts_with(kDifference)) differences.push_back(note.substr(kDifference.size()));
  if (!o.stack.empty()) out += line("stack", o.stack);
  if (!differences.empty()) out += line("differs", fmt::format("from Megatron: {}", fmt::join(differences, "; ")));
  out.pop_back();
  return out;
}

std::string write_arguments(const Options& o, i64 iteration) {
  if (o.train.save.empty()) return {};
  const std::string text = arguments_text(o) + "\n";
  const std::string stem = fmt::format("{}/arguments_{:07d}", o.train.save, iteration);
  for (int number = 1;; ++number) {
    const std::string path = number == 1 ? stem + ".txt" : fmt::format("{}_{}.txt", stem, number);
    if (std::ifstream there(path, std::ios::binary); there) {
      if (std::string(std::istreambuf_iterator<char>(there), {}) == text) return path;
      continue;
    }
    if (std::ofstream file(path, std::ios::binary | std::ios::trunc); file << text << std::flush) return path;
    std::error_code none;
    std::filesystem::remove(path, none);  // an incomplete file
    log::warn("{}: the arguments could not be written", path);
    return {};
  }
}

}  // namespace megalith
