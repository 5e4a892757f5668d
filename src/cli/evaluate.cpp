// `megalith evaluate`: the loss of a checkpoint on data.
#include <algorithm>
#include <cstdlib>
#include <exception>

#include "base/log.h"
#include "base/number_text.h"
#include "ckpt/not_loadable.h"
#include "cli/command.h"
#include "cli/mistaken_places.h"
#include "cli/share_cores.h"
#include "comm/on_all_ranks.h"
#include "complete/complete_options.h"
#include "complete/hub_names.h"
#include "config/show.h"
#include "device/make_backend.h"
#include "observe/run_head.h"
#include "observe/sinks/console.h"
#include "settings/schedules.h"
#include "train/evaluation.h"
#include "train/open_data.h"
#include "train/open_run.h"

namespace megalith {

// The flags with a meaning here. Training flags are also accepted, so a run's command line works.
static std::string evaluate_help() {
  static constexpr std::string_view kOthers[] = {"load",       "ckpt-step",   "seq-length",     "micro-batch-size",
                                                 "eval-iters", "seed",        "bf16",           "fp16",
                                                 "device",     "cpu-kernels", "gemm-cache-file"};
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

namespace {

// Finds --load, also in the hub's cache. Returns why it cannot be evaluated; "" if it can.
std::string find_load(TrainConfig& t) {
  if (t.load.empty()) return "--load DIR is required: a checkpoint or a Hugging Face model directory";
  try {
    t.load = find_on_hub(t.load, "--load");
    return find_loadable(t.load, t.ckpt_step) ? "" : "--load " + why_not_loadable(t.load);
  } catch (const Error& e) {
    return e.what();
  }
}

// The settings of an evaluation by these ranks. The run's flags of data and layout keep their meaning.
void settle_evaluation(Options& o) {
  if (const std::string problem = find_load(o.train); !problem.empty()) {
    if (!o.wrong.unread.contains("--load")) o.wrong.mistakes.push_back(problem);
    refuse_wrong(o);
  }
  o.train.skip_train = true;
  o.data.dataloader_type = SamplerType::single;
  if (o.train.micro_batch_size == 0) o.train.micro_batch_size = 1;
  if (!o.given.has("train-iters")) o.train.train_iters = 1;
  if (o.optimizer.lr == 0) o.optimizer.lr = 1;
  if (!o.given.has("split") && !o.data.data_path.empty()) o.data.split = "0,1,0";
  find_mistaken_places(o);
  complete_options(o, read_sources(o));
}

// Over --eval-iters batches of the validation split. Without --eval-iters, over all of it. All ranks call it.
int evaluate(const Options& o, const Backend& backend, Ranks& ranks) {
  const bool whole = !o.given.has("eval-iters");
  PlannedStep step;
  on_all_ranks(ranks, [&] {
    StepSpec spec = step_spec(o, stage_of(o, ranks));
    spec.evaluate = true;
    step = plan_step(spec, backend);
  });
  connect_ranks(step, backend, ranks);
  const Coord coord = coord_of(step.plan, ranks);
  std::unique_ptr<Interpreter> interpreter;
  Datasets sets;
  on_all_ranks(ranks, [&] {
    interpreter = backend.make_interpreter(step.plan, coord);
    ModelState model(step, *interpreter, coord);
    load_named_weights(o.train.load, o.train.ckpt_step, model);
  });
  const std::optional<i64> asked = whole ? std::nullopt : std::optional(o.train.eval_iters * o.train.eval_batch());
  first_of_host_first(ranks, [&] {
    sets = open_datasets(o, SampleCounts{.valid = asked});
    check(sets.valid != nullptr, "the validation split is empty: give --split, or --valid-data-path");
    check(std::min(asked.value_or(1), sets.valid->size()) > 0,
          "--eval-iters {}: want 1 or more, or leave it out to read the full set", o.train.eval_iters);
  });
  Trainer trainer(step, *interpreter, coord, o.optimizer, make_schedules(o));
  const Trainer::Evaluation e = Evaluation(o, step, coord, ranks, trainer).sums(sets.valid, 0, whole);
  std::string others;
  for (const TermSums& term : e.others)
    if (term.weight != 0) others += fmt::format(" | {} {}", term.name, number_text(term.sum / term.weight));
  log::say("samples {} | tokens {:.0f} | lm loss {} | perplexity {}{}",
           std::min(asked.value_or(sets.valid->size()), sets.valid->size()), e.tokens, number_text(e.mean()),
           number_text(perplexity(e.mean())), others);
  return 0;
}

}  // namespace

int command_evaluate(int argc, const char* const* argv) {
  const Place place = find_place([](const char* name) -> const char* { return std::getenv(name); });
  if (place.rank > 0) log::mute();
  Options o;
  std::exception_ptr mistake;  // thrown after the ranks connect, so only one of them prints it
  try {
    o = read_options(argc, argv);
  } catch (const Error&) {
    mistake = std::current_exception();
  }
  if (o.help) {
    log::say("{}", evaluate_help());
    return 0;
  }
  settle_drivers();
  const std::unique_ptr<Ranks> ranks = join(place, {.timeout_seconds = 60 * o.parallel.distributed_timeout_minutes});
  share_cores(ranks->place());
  return tell_errors(*ranks, [&] {
    std::unique_ptr<Backend> backend;
    on_all_ranks(*ranks, [&] {
      if (mistake) std::rethrow_exception(mistake);
      o.parallel.world_size = ranks->size();
      settle_evaluation(o);
      o.train.device.timeout_seconds = 60 * o.parallel.distributed_timeout_minutes;
      backend = make_backend(o.train.device, ranks.get());
    });
    for (const std::string& note : o.notes)
      if (!note.starts_with(kDifference)) log::info("{}", note);  // differences are of training
    return evaluate(o, *backend, *ranks);
  });
}

}  // namespace megalith
