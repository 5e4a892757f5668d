#include "cli/plan_flags.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/can_write.h"
#include "base/log.h"
#include "base/mistakes.h"
#include "cli/foreign/nemo.h"
#include "cli/plan_sites.h"
#include "cli/training_line.h"
#include "complete/complete_options.h"
#include "config/over.h"
#include "config/show.h"
#include "facts/facts_file.h"
#include "settings/compatibility.h"
#include "settings/megatron_flags.h"

namespace megalith {

namespace {

constexpr i64 kFewest = 8, kMost = 16384;  // of a table without --gpus

struct GpuRange {
  i64 first = kFewest, last = kMost;
};

i64 count_of(const std::string& text, const std::string& all) {
  constexpr i64 kCountable = 1 << 20;
  i64 n = 0;
  for (const char c : text) n = c >= '0' && c <= '9' && n <= kCountable ? 10 * n + (c - '0') : kCountable + 1;
  check(!text.empty() && n >= 1 && n <= kCountable,
        "--gpus {}: want a number of GPUs up to {}, or two with a colon between them, as in 64:1024", all, kCountable);
  return n;
}

GpuRange range_of(const std::string& text) {
  if (text.empty()) return {};
  const size_t colon = text.find(':');
  GpuRange r{count_of(text.substr(0, colon), text)};
  r.last = colon == text.npos ? r.first : count_of(text.substr(colon + 1), text);
  check(r.first <= r.last, "--gpus {}: the first number is the smaller one", text);
  return r;
}

// Values with which a run makes no progress, because the next failure comes first.
void goodput_mistake(const search::Prices& p, i64 gpus, std::vector<std::string>& out) {
  constexpr double kLeast = 1e-3;
  if (!(search::goodput(p, gpus, 1).useful < kLeast)) return;
  out.push_back(
      fmt::format("--gpu-mtbf-hours {}, --save-stall-seconds {}, --restart-seconds {}, --detect-seconds {}: less than "
                  "0.1% of the time of {} GPUs is useful: give values with which the run ends",
                  p.gpu_mtbf_hours, p.save_stall_seconds, p.restart_seconds, p.detect_seconds, gpus));
}

void own_mistakes(const PlanFlags& c, std::vector<std::string>& out) {
  const auto hold = [&](bool good, std::string line) {
    if (!good) out.push_back(std::move(line));
  };
  try {
    goodput_mistake(c.prices, range_of(c.gpus).last, out);
  } catch (const Error& e) {
    out.push_back(e.what());
  }
  hold(!c.gpus.empty() || c.max_days > 0,
       "--gpus is required: the number of GPUs, or give --max-days for the least number of them");
  const auto positive = [&](const char* flag, double value, bool zero_too) {
    hold(std::isfinite(value) && (value > 0 || (zero_too && value == 0)),
         fmt::format("{} {}: want {}", flag, value, zero_too ? "0 or more" : "more than 0"));
  };
  hold(c.top >= 1 && c.top <= 1000, fmt::format("--top {}: want 1 to 1000", c.top));
  hold(c.memory_headroom >= 0 && c.memory_headroom < 1,
       fmt::format("--memory-headroom {}: want a share, 0 to below 1", c.memory_headroom));
  positive("--tokens", c.tokens, true), positive("--max-days", c.max_days, true);
  positive("--max-cost", c.max_cost, true);
  const std::vector<std::string> kinds = kinds_of(c);
  const size_t prices = c.gpu_hour_prices.size();
  hold(prices <= 1 || prices == kinds.size(),
       fmt::format("--gpu-hour-price has {} prices for {} kinds of GPUs: give one, or one of each", prices,
                   kinds.size()));
  const bool priced = prices > 0 && std::ranges::all_of(c.gpu_hour_prices, [](double p) { return p > 0; });
  hold(c.max_cost == 0 || priced, "--max-cost needs --gpu-hour-price: give both");
  hold(c.objective != search::Objective::cost || priced, "--objective cost needs --gpu-hour-price: give both");
  positive("--storage-price", c.prices.storage_tb_month, true);
  for (const double price : c.gpu_hour_prices) positive("--gpu-hour-price", price, true);
  positive("--gpu-watts", c.prices.watts, true);
  positive("--assume-tokens-per-second", c.assume_tokens_per_second, true);
  hold(c.assume_tokens_per_second == 0 || !c.gpus.empty(), "--assume-tokens-per-second needs --gpus: give both");
  positive("--save-stall-seconds", c.prices.save_stall_seconds, false);
  positive("--restart-seconds", c.prices.restart_seconds, true);
  positive("--detect-seconds", c.prices.detect_seconds, true);
  if (!c.gpus.empty() && c.gpus.find(':') != c.gpus.npos && !c.explain.empty())
    out.push_back("--explain is of one number of GPUs: give --gpus one");
  hold(!c.options.given.has("layout"), "--layout is of training commands: plan chooses anyway, leave it out");
  for (const std::string& kind : kinds)
    hold(!kind.empty() && names_facts(kind),
         fmt::format("--hardware {}: there are facts of {}: name one of them, or a file of facts (*.yaml)", kind,
                     fmt::join(names_of_facts(), ", ")));
  const bool reports_one = !c.explain.empty() || !c.html.empty() || c.assume_tokens_per_second > 0;
  hold(kinds.size() == 1 || !reports_one,
       "--explain, --html and --assume-tokens-per-second are of one kind of GPUs: give --hardware one");
  for (const auto& [flag, path] : {std::pair("--json", &c.json), {"--csv", &c.csv}, {"--html", &c.html}})
    hold(path->empty() || can_write(*path), fmt::format("{} {}: can't be written: name another file", flag, *path));
  try {
    if (!c.explain.empty()) (void)search::parse_wanted(c.explain);
  } catch (const Error& e) {
    out.push_back(e.what());
  }
}

// Mistakes that all layouts share. If values are out of range, only these are reported, because nothing can be derived
// from them.
void model_mistakes(const Options& o, std::vector<std::string>& out) {
  const std::vector<std::string> ground = broken_ground(o);
  out.insert(out.end(), ground.begin(), ground.end());
  if (!ground.empty()) return;
  if (o.model.architecture != Architecture::gpt) {
    out.push_back(fmt::format("the plan of a {} is not built: give a GPT's flags", name_of(o.model.architecture)));
    return;
  }
  if (o.train.global_batch_size == 0 && o.train.step_batch_size_schedule.empty())
    out.push_back("--global-batch-size is required: a plan compares layouts of the same batch");
  const auto need = [&](bool there, const char* flag) {
    if (!there && !o.wrong.unread.contains(flag)) out.push_back(fmt::format("missing required flag: {}", flag));
  };
  const ModelConfig& m = o.model;
  need(m.num_layers != 0, "--num-layers"), need(m.hidden_size != 0, "--hidden-size");
  need(m.num_attention_heads != 0, "--num-attention-heads"), need(m.seq_length != 0, "--seq-length");
  if (m.vocab_size == 0 && m.padded_vocab_size == 0)
    out.push_back("the vocabulary size is unknown: give --vocab-size, or a tokenizer with --tokenizer-type");
  constexpr i64 kMostLayers = 1024;
  if (m.num_layers > kMostLayers)
    out.push_back(fmt::format("--num-layers {}: at most {} can be planned", m.num_layers, kMostLayers));
  if (!out.empty()) return;
  const Options resolved = search::with(o, {.micro_batch = std::max<i64>(1, o.train.micro_batch_size)});
  for (const Rule& rule : compatibility_rules()) {
    if (rule.topic != Rule::Topic::model || rule.action != Rule::Action::refuse || rule.ground) continue;
    if (std::string line = rule.broken(resolved); !line.empty()) out.push_back(std::move(line));
  }
}

// Settings that a run needs and a plan does not.
void settle_training(Options& o, const std::string& hardware) {
  if (o.train.train_iters == 0 && o.train.train_samples == 0) o.train.train_iters = 1;
  if (o.optimizer.lr == 0) o.optimizer.lr = 1, o.optimizer.min_lr = 0;
  o.train.dry_run = true, o.train.device.device = hardware;
}

// The words after the command. A command line of NeMo is planned as its translation. A plan needs no data, so what a
// run lacks is only told.
std::vector<std::string> words_of(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const std::optional<Translation> nemo = translate_nemo(argv[0], words);
  if (!nemo) return words;
  for (const auto* lines : {&nemo->wrong, &nemo->notes})
    for (const std::string& line : *lines) log::info("note: {}", line);
  words = nemo->words;
  log::info("{}, planned as: {}", nemo->whose, command_line("plan", words));
  return words;
}

// Removes the recipe's layout and micro-batch size, because the search chooses them. `--recipe NAME@GPUS` gives --gpus.
TrainingLine line_of(int argc, const char* const* argv) {
  const std::vector<std::string> given = words_of(argc, argv);
  std::vector<const char*> words = {"pretrain-gpt"};
  for (const std::string& word : given) words.push_back(word.c_str());
  TrainingLine line = read_training_line(int(words.size()), words.data());
  check(!line.explain, "--explain-config is of training commands: leave it out");
  std::erase_if(line.under.words, [](const std::string& word) {
    return word.starts_with("--layout=") || word.starts_with("--micro-batch-size=");
  });
  if (line.gpus > 0) line.under.words.push_back(fmt::format("--gpus={}", line.gpus));
  return line;
}

}  // namespace

void list_fields(PlanFlags& c, config::FieldList& f) {
  f.group("Plan");
  f.add("gpus", c.gpus,
        "GPUs to plan for. FIRST:LAST: a table of the powers of two between them. Default, with --max-days: from 8 to "
        "16384.")
      .shown_as("N");
  f.add("hardware", c.hardware,
        "Their kind: a device whose facts the program has, or a file of facts (*.yaml). A,B: compares both kinds.")
      .shown_as("NAME");
  f.add("top", c.top, "Layouts in the table.");
  f.add("memory-headroom", c.memory_headroom, "Fraction of a GPU's memory that a layout must leave free.");
  f.add("tokens", c.tokens, "Tokens of the run, for days, price and energy; 0: 1e12.");
  f.add("gpu-hour-price", c.gpu_hour_prices,
        "USD of a GPU for an hour; without it no prices. Several: of each kind of --hardware.")
      .also("--price");
  f.add("gpu-watts", c.prices.watts, "Watts of a GPU with its share of the host; 0: no energy.");
  f.add("storage-price", c.prices.storage_tb_month, "USD for 1e12 bytes of checkpoints and a month; 0: no price.");
  f.add(
      "max-days", c.max_days,
      "Refuse layouts that take longer for all tokens. Of several numbers of GPUs, print the smallest that suffices.");
  f.add("max-cost", c.max_cost, "Refuse layouts that cost more USD for all tokens; needs --gpu-hour-price.");
  f.add("objective", c.objective, {"tokens-per-second", "days", "cost", "memory", "energy"},
        "What the first layout is the best in. For one number of GPUs all but memory mean the fastest. Of several "
        "numbers it also prints the best.");
  f.add("assume-tokens-per-second", c.assume_tokens_per_second,
        "Compute days and prices from this many tokens a second of a GPU, without a search; refused above the GPU's "
        "peak.");
  f.add("force", c.force, "Accept an assumption above the peak.");
  f.add("save-stall-seconds", c.prices.save_stall_seconds, "Seconds that a save stops the training.");
  f.add("restart-seconds", c.prices.restart_seconds, "Seconds from the detection of a failure to the first step.");
  f.add("detect-seconds", c.prices.detect_seconds, "Seconds until a failure is detected.");
  list_site_fields(c, f);
  f.add("explain", c.explain,
        "Show the best layout with these parts, as in \"tp8 pp4\": its memory by category and stage, where its time "
        "goes, its pipeline.")
      .shown_as("LAYOUT");
  f.add("json", c.json, "File for the whole report, as JSON.").shown_as("FILE");
  f.add("csv", c.csv, "File for the table, as CSV.").shown_as("FILE");
  f.add("check", c.check,
        "Alone, with --hardware and --metrics-file: compare the prediction for the run saved there with what it "
        "took.")
      .shown_as("RUN_DIR");
  f.add("html", c.html, "File for the report as one HTML page, with drawings.").shown_as("FILE");
  list_fields(c.options, f);
}

bool read_plan_flags(PlanFlags& flags, int argc, const char* const* argv) {
  config::FieldList fields = config::fields_of(flags);
  const TrainingLine line = line_of(argc, argv);
  Options& o = flags.options;
  const std::vector<std::string> words(line.words.begin() + 1, line.words.end());
  take_parsed(o, config::parse_over(line.under, fields, words, megatron_flags()), "plan");
  if (o.help) {
    log::say("{}", config::help_text(fields));
    return false;
  }
  flags.prices.gpu_mtbf_hours = o.train.gpu_mtbf_hours;
  read_sites(flags, o.wrong.mistakes);
  own_mistakes(flags, o.wrong.mistakes);
  settle_training(o, kinds_of(flags).front());
  flags.prices.gpu_hour = price_of(flags, 0);
  complete_model(o, read_sources(o));
  model_mistakes(o, o.wrong.mistakes);
  refuse_wrong(o);
  return true;
}

std::vector<std::string> kinds_of(const PlanFlags& flags) {
  std::vector<std::string> out{""};
  for (const char c : flags.hardware)
    if (c == ',')
      out.emplace_back();
    else
      out.back() += c;
  return out;
}

double price_of(const PlanFlags& flags, size_t kind) {
  const std::vector<double>& prices = flags.gpu_hour_prices;
  return prices.empty() ? 0 : prices[std::min(kind, prices.size() - 1)];
}

std::vector<i64> gpu_counts(const PlanFlags& flags) {
  const GpuRange r = range_of(flags.gpus);
  if (r.first == r.last) return {r.first};
  std::vector<i64> out;
  for (i64 n = 1; n <= r.last; n *= 2)
    if (n >= r.first) out.push_back(n);
  if (out.empty()) out = {r.first, r.last};
  return out;
}

}  // namespace megalith
