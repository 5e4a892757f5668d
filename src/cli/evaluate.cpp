// `megalith evaluate`: the loss of a checkpoint on data.
#include <algorithm>

#include "base/log.h"
#include "ckpt/not_loadable.h"
#include "cli/command.h"
#include "cli/hub_names.h"
#include "cli/model_source.h"
#include "config/show.h"
#include "data/loader.h"
#include "device/make_backend.h"
#include "observe/sinks/console.h"
#include "settings/schedules.h"
#include "train/open_data.h"

namespace megalith {

// The flags with a meaning here. Training flags are also accepted, so a run's command line works.
static std::string evaluate_help() {
  static constexpr std::string_view kOthers[] = {"load",       "ckpt-step",      "seq-length", "micro-batch-size",
                                                 "eval-iters", "seed",           "bf16",       "fp16",
                                                 "device",     "gemm-cache-file"};
  static constexpr std::string_view kOfTraining[] = {
      "train-data-path", "test-data-path", "multiple-validation-sets", "validation-set-names", "dataloader-type",
      "data-order-file", "data-sharding"};
  Options options;
  config::FieldList fields = config::fields_of(options);
  std::erase_if(fields.all(), [](const config::Field& f) {
    const bool of_data = f.group == "Data" || f.group == "Tokenizer" || f.group == "fp8 and fp4";
    if (of_data) return f.name.starts_with("fim-") || std::ranges::find(kOfTraining, f.name) != std::end(kOfTraining);
    return std::ranges::find(kOthers, f.name) == std::end(kOthers);
  });
  return "The loss of a checkpoint, or of a Hugging Face model directory, over data. Flags of training are also "
         "accepted, "
         "without effect.\n\n" +
         config::help_text(fields);
}

// The loss over --eval-iters batches of the validation split. Without --eval-iters, over all of it.
int command_evaluate(int argc, const char* const* argv) {
  Options o = read_options(argc, argv);
  if (o.help) {
    log::say("{}", evaluate_help());
    return 0;
  }
  check(!o.train.load.empty(), "--load DIR is required: a checkpoint or a Hugging Face model directory");
  o.train.load = find_on_hub(o.train.load, "--load");
  if (!find_loadable(o.train.load, o.train.ckpt_step)) fail("--load {}", why_not_loadable(o.train.load));
  if (o.train.micro_batch_size == 0) o.train.micro_batch_size = 1;
  if (!o.given.has("train-iters")) o.train.train_iters = 1;
  if (o.optimizer.lr == 0) o.optimizer.lr = 1;
  if (!o.given.has("split") && !o.data.data_path.empty()) o.data.split = "0,1,0";
  complete_options(o);
  for (const std::string& note : o.notes) log::info("{}", note);
  const std::unique_ptr<Backend> backend = make_backend(o.train.device);
  StepSpec spec = step_spec(o);
  spec.train = false, spec.evaluate = true;
  PlannedStep step = plan_step(spec, *backend);
  const auto interpreter = backend->make_interpreter(step.plan, Coord{});
  ModelState model(step, *interpreter);
  load_named_weights(o.train.load, o.train.ckpt_step, model);

  SampleCounts counts;
  if (o.given.has("eval-iters"))
    counts.valid = o.train.eval_iters * o.train.eval_batch();
  else
    counts.valid = std::nullopt;
  const Datasets sets = open_datasets(o, counts);
  check(sets.valid != nullptr, "the validation split is empty: give --split, or --valid-data-path");
  const i64 samples = std::min(counts.valid.value_or(sets.valid->size()), sets.valid->size());
  check(samples > 0, "--eval-iters {}: want 1 or more, or leave it out to read the full set", o.train.eval_iters);
  LoaderConfig config = loader_config(o.data, Split::valid);
  config.type = SamplerType::single, config.end = samples;
  config.micro_batch_size = o.train.micro_batch_size;
  DataLoader loader(sets.valid, config);
  Trainer trainer(step, *interpreter, Coord{}, o.optimizer, make_schedules(o));
  const auto e = trainer.evaluate(loader, (samples + config.micro_batch_size - 1) / config.micro_batch_size);
  if (e.tokens == 0) log::warn("all labels of the {} samples are masked: the loss is 0", samples);
  std::string others;
  for (const TermSums& term : e.others)
    if (term.weight != 0) others += fmt::format(" | {} {:.6E}", term.name, term.sum / term.weight);
  log::say("samples {} | tokens {:.0f} | lm loss {:.6E} | perplexity {:.6E}{}", samples, e.tokens, e.mean(),
           perplexity(e.mean()), others);
  return 0;
}

}  // namespace megalith
