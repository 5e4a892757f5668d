#include "train/options.h"

#include "config/show.h"
#include "train/batch_sizes.h"
#include "train/compatibility.h"
#include "train/megatron_flags.h"

namespace megalith {

Options read_options(int argc, const char* const* argv) {
  Options options;
  config::FieldList fields = config::fields_of(options);
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  config::ParseResult result = config::parse(fields, words, megatron_flags());
  options.given = std::move(result.given);
  options.notes = std::move(result.notes);
  for (const std::string& warning : result.warnings) options.notes.push_back("warning: " + warning);
  options.help = result.help;
  return options;
}

// What only training needs may be left out.
static void settle_skipped_training(Options& options) {
  TrainConfig& t = options.train;
  if (t.train_iters == 0 && t.train_samples == 0) t.train_iters = 1;
  if (options.optimizer.lr == 0) options.optimizer.lr = 1;
  t.no_load_optim = true;
  options.optimizer.override_opt_param_scheduler = !options.optimizer.use_checkpoint_opt_param_scheduler;
}

void finish_options(Options& options) {
  if (options.help) return;
  options.model.resolve(options.parallel.tensor_model_parallel_size);
  if (options.tokenizer.vocab_size == 0) options.tokenizer.vocab_size = options.model.vocab_size;
  RecomputeConfig& recompute = options.recompute;
  if (recompute.granularity == RecomputeConfig::Granularity::selective && recompute.modules.empty())
    recompute.modules = {"core_attn"};
  if (options.data.sft)  // conversations in a sample are documents
    options.data.reset_position_ids = options.data.reset_attention_mask = true;
  TrainConfig& train = options.train;
  if (const i64 last = last_of_schedule(train.step_batch_size_schedule); last > 0 && train.global_batch_size == 0)
    train.global_batch_size = last;
  if (train.global_batch_size == 0)
    train.global_batch_size = train.micro_batch_size * options.parallel.data_parallel_size();
  if (train.skip_train) settle_skipped_training(options);
  for (std::string& warning : check_compatibility(options)) options.notes.push_back("warning: " + std::move(warning));
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
         "first.\n\n" +
         config::help_text(config::fields_of(options));
}

std::string options_page() {
  Options options;
  return "# Flags\n\nFlags have Megatron's names and meanings. `--config FILE.yaml` reads them from a file (keys "
         "without the "
         "dashes); the command line overrides it.\n\n" +
         config::help_markdown(config::fields_of(options)) + "\n" + compatibility_markdown() + "\n" +
         megatron_flags_markdown();
}

std::string arguments_text(Options options) { return config::arguments_text(config::fields_of(options)); }

std::vector<std::string> differences_from_megatron(const Options& o) {
  std::vector<std::string> lines;
  const auto add = [&](bool matters, std::string line) {
    if (matters) lines.push_back(std::move(line));
  };
  add(!o.given.has("hidden-dropout"), "hidden-dropout is 0 unless given (there 0.1)");
  add(!o.given.has("attention-dropout"), "attention-dropout is 0 unless given (there 0.1)");
  add(o.given.has_flag("--num-query-groups") && !o.given.has_flag("--group-query-attention"),
      fmt::format("--num-query-groups {} holds by itself (there it is ignored without --group-query-attention)",
                  o.model.num_query_groups));
  add(!o.given.has("max-position-embeddings"), "max-position-embeddings is seq-length unless given (there required)");
  add(o.data.sft && o.data.sft_prompt_format == "default",
      "--sft-tokenizer-prompt-format default learns the assistant's turns only (there the whole text)");
  add(o.data.sft && o.data.sft_packing,
      "--sft packs as many conversations into a sample as fit (there those of one line)");
  add(o.data.fim.on,
      "--fim-data draws each sample's random numbers by its number (there by the order in which a process reads)");
  add(o.optimizer.optimizer_cpu_offload,
      "--optimizer-cpu-offload: a GPU computes the update itself, on windows of the state (there the CPU does)");
  add(o.train.check_for_nan_in_loss_and_grad && o.train.max_skipped_in_a_row > 0,
      fmt::format("an iteration whose loss or gradient is not finite is skipped, {} in a row end the run (there the "
                  "first one does)",
                  o.train.max_skipped_in_a_row));
  add(!o.train.bf16, "gradients are accumulated in f32 always (there only with --bf16 or on request)");
  add(o.parallel.grad_reduce_in_bf16,
      "--grad-reduce-in-bf16 is for sums over ranks, each rank's own stay f32 (there they are bf16 too)");
  add(o.model.padded_vocab_size > o.model.vocab_size,
      "padded rows of the vocabulary are masked in the loss and never saved (there they take part and are saved)");
  return lines;
}

}  // namespace megalith
