#include "settings/options.h"

#include "base/mistakes.h"
#include "base/wrap.h"
#include "config/show.h"
#include "settings/batch_sizes.h"
#include "settings/compatibility.h"
#include "settings/length_units.h"
#include "settings/megatron_flags.h"
#include "settings/precision.h"
#include "settings/recipe_options.h"

namespace megalith {

namespace {

// A value out of range is reported once and reset to its default. So dependent rules do not report it too.
void set_aside(Options& options) {
  std::vector<std::string> broken = broken_ground(options);
  if (broken.empty()) return;  // lists of fields take longer than the rules
  Options fresh;
  config::FieldList fields = config::fields_of(options), defaults = config::fields_of(fresh);
  for (std::string& line : broken) {
    const std::string flag = flags_in(line).at(0);
    if (config::Field* field = fields.find(flag.substr(2))) field->set(defaults.find(flag.substr(2))->values(), flag);
    options.given.uses.erase(flag.substr(2));  // its default is not a value that was given
    options.wrong.unread.insert(flag);
    options.wrong.mistakes.push_back(std::move(line));
  }
}

// Fills in required settings of training that such a run does not need.
void settle_skipped_training(Options& options) {
  TrainConfig& t = options.train;
  if (t.train_iters == 0 && t.train_samples == 0) t.train_iters = 1;
  if (options.optimizer.lr == 0) options.optimizer.lr = 1;
  t.no_load_optim = true;
  options.optimizer.override_opt_param_scheduler = !options.optimizer.use_checkpoint_opt_param_scheduler;
}

}  // namespace

void derive(Options& options) {
  options.model.resolve(options.parallel.tensor_model_parallel_size);
  if (options.tokenizer.vocab_size == 0) options.tokenizer.vocab_size = options.model.vocab_size;
  RecomputeConfig& recompute = options.recompute;
  if (recompute.granularity == RecomputeConfig::Granularity::selective && recompute.modules.empty())
    recompute.modules = {"core_attn"};
  if (recompute.granularity == RecomputeConfig::Granularity::full) {  // alone: each layer from its input
    if (recompute.method == RecomputeConfig::Method::none) recompute.method = RecomputeConfig::Method::uniform;
    if (!options.given.has("recompute-num-layers") && recompute.num_layers == 0) recompute.num_layers = 1;
  }
  if (options.data.sft)  // conversations in a sample are documents
    options.data.reset_position_ids = options.data.reset_attention_mask = true;
  TrainConfig& train = options.train;
  if (const i64 last = last_of_schedule(train.step_batch_size_schedule); last > 0 && train.global_batch_size == 0)
    train.global_batch_size = last;
  if (train.global_batch_size == 0)
    train.global_batch_size = train.micro_batch_size * options.parallel.data_parallel_size();
  if (train.skip_train) settle_skipped_training(options);
}

Options read_options(int argc, const char* const* argv) { return read_options_over({}, argc, argv); }

void take_parsed(Options& options, config::ParseResult result, const std::string& command) {
  options.given = std::move(result.given);
  options.wrong = std::move(result.wrong);
  if (!options.wrong.rest.empty() && !command.empty())
    options.wrong.rest = fmt::format("megalith {} {}", command, options.wrong.rest);
  options.notes = std::move(result.notes);
  if (options.given.has_flag("--no-position-embedding") &&
      options.model.position_embedding_type != PositionEmbedding::none)
    options.notes.push_back("--no-position-embedding has no effect: another kind of positions is given");
  settle_units(options);
  for (const std::string& warning : result.warnings) options.notes.push_back("warning: " + warning);
  options.help = result.help;
}

void refuse_wrong(const Options& options, const std::string& missing) {
  const config::Wrong& wrong = options.wrong;
  if (!wrong.any()) return;
  std::vector<std::string> after;
  const bool lacks = !missing.empty() && wrong.mistakes == std::vector{missing};
  if (!wrong.rest.empty() && (wrong.mistakes.empty() || lacks)) {
    after = {"Without what is refused, and what it asks for, this line runs:", wrong.rest};
    if (lacks) after[0] = "Without what is refused, and with values for what is missing, this line runs:";
    for (const std::string& flag : lacks ? flags_in(missing) : std::vector<std::string>())
      if (flag != "--train-samples" && flag != "--mock-data") after[1] += fmt::format(" {} ...", flag);
  }
  throw Mistakes(wrong.lines(), std::move(after));
}

void finish_options(Options& options) {
  if (options.help) return;
  set_aside(options);
  derive(options);
  Broken broken = broken_rules(options, options.wrong.unread);
  const bool lacks = !broken.refusals.empty() && broken.refusals[0].starts_with("missing required flags");
  const std::string missing = lacks ? broken.refusals[0] : "";
  for (std::string& line : broken.refusals) options.wrong.mistakes.push_back(std::move(line));
  refuse_wrong(options, missing);
  for (std::string& warning : broken.warnings) options.notes.push_back("warning: " + std::move(warning));
  for (std::string& line : differences_from_megatron(options))
    options.notes.push_back("differs from Megatron: " + std::move(line));
}

Options parse_options(int argc, const char* const* argv) {
  Options options = read_options(argc, argv);
  finish_options(options);
  return options;
}

std::string options_help() {
  Options options;
  return "Flags have Megatron's names. Values in [] are the defaults; --config FILE.yaml reads flags from a file "
         "first.\n--recipe NAME[:TASK][@GPUS] begins with a published run's settings (`megalith recipes` lists them), "
         "and "
         "--explain-config prints the source of each value.\n\n" +
         config::help_text(config::fields_of(options));
}

std::string options_page() {
  constexpr size_t kColumns = 140;
  Options options;
  const std::string page =
      "# Flags\n\nFlags have Megatron's names and meanings. [] has the default. `--config FILE.yaml` reads them "
      "from "
      "a file (keys without the dashes); the command line overrides it. `--recipe NAME[:TASK][@GPUS]` of training "
      "commands "
      "begins with a published run's settings, and `--explain-config` prints the source of each value.\n\n" +
      config::help_markdown(config::fields_of(options)) + "\n" + compatibility_markdown() + "\n" +
      megatron_flags_markdown();
  return wrap_markdown(page, kColumns);
}

std::string arguments_text(Options options) { return config::arguments_text(config::fields_of(options)); }

static std::string default_text(const config::Field& field) {
  if (field.name == "max-position-embeddings") return "seq-length";
  const std::string text = field.text();
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

// Whether the default of an omitted field matters for this run.
static bool matters(const Options& o, const std::string& name) {
  if (name == "ckpt-format" || name == "dist-ckpt-workers") return !o.train.save.empty();
  if (name == "cp-comm-type") return o.parallel.context_parallel_size > 1;
  if (name.starts_with("retro-")) return o.model.retrieves();
  return true;
}

std::vector<std::string> differences_from_megatron(const Options& o) {
  std::vector<std::string> lines;
  const auto add = [&](bool matters, std::string line) {
    if (matters) lines.push_back(std::move(line));
  };
  Options defaults;
  const config::FieldList fields = config::fields_of(defaults);
  for (const config::Field& field : fields.all())
    add(!field.there.empty() && !o.given.has(field.name) && matters(o, field.name),
        fmt::format("{} is {} unless given (there {})", field.name, default_text(field), field.there));
  add(o.given.has_flag("--num-query-groups") && !o.given.has_flag("--group-query-attention") &&
          o.model.num_query_groups != o.model.num_attention_heads,
      fmt::format("--num-query-groups {} holds by itself (there it is ignored without --group-query-attention)",
                  o.model.num_query_groups));
  add(o.data.sft && o.data.sft_prompt_format == "default",
      "--sft-tokenizer-prompt-format default learns the assistant's turns only (there the whole text)");
  add(o.data.sft && o.data.sft_packing,
      "--sft packs as many conversations into a sample as fit (there those of one line)");
  add(o.data.fim.on,
      "--fim-data draws each sample's random numbers by its number (there by the order in which a process reads)");
  add(o.optimizer.optimizer_cpu_offload,
      "--optimizer-cpu-offload: a GPU computes the update itself, on windows of the state (there the CPU does)");
  add(o.train.check_for_nan_in_loss_and_grad && o.train.max_skipped_in_a_row > 0 && !o.train.fp16,
      fmt::format("an iteration whose loss or gradient is not finite is skipped, {} in a row end the run (there the "
                  "first one does)",
                  o.train.max_skipped_in_a_row));
  add(precision_of(o).parameters != DType::bf16,
      "gradients are always accumulated in f32 (there only with --bf16 or on request)");
  add(o.quantize.is_delayed(),
      "--fp8-recipe delayed moves scales once a step, and first casts a tensor by its own amax (there once a "
      "micro-batch, and by 1)");
  add(o.parallel.grad_reduce_in_bf16 && precision_of(o).gradients == DType::f32,
      "--grad-reduce-in-bf16 is for sums over ranks, each rank's own stay f32 (there they are bf16 too)");
  add(o.model.padded_vocab_size > o.model.vocab_size,
      "padded rows of the vocabulary are masked in the loss and never saved (there they take part and are saved)");
  return lines;
}

}  // namespace megalith
