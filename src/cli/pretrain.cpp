// `megalith pretrain-gpt` and its siblings: joins the ranks, opens the device, and trains.
#include <cstdlib>
#include <exception>

#include "base/log.h"
#include "base/parse_count.h"
#include "base/process_memory.h"
#include "base/threads.h"
#include "cli/auto_layout.h"
#include "cli/command.h"
#include "cli/foreign/nemo.h"
#include "cli/mistaken_places.h"
#include "cli/share_cores.h"
#include "cli/stack.h"
#include "cli/training_line.h"
#include "comm/former_ranks.h"
#include "comm/launch_line.h"
#include "comm/on_all_ranks.h"
#include "complete/complete_options.h"
#include "device/make_backend.h"
#include "inject/fault.h"
#include "train/pretrain.h"
#include "train/run_signals.h"
#include "train/start_age.h"

namespace megalith {

// The device opens while the system still tears down its former processes. If memory is short because of that, it
// tries again.
static std::unique_ptr<Backend> backend_behind(const FormerRanks& former, const DeviceOptions& device, Ranks& ranks) {
  std::unique_ptr<Backend> backend;
  try {
    backend = make_backend(device, &ranks);
  } catch (const Error&) {
    if (!former.are_there()) throw;
  }
  former.wait();
  return backend ? std::move(backend) : make_backend(device, &ranks);
}

static bool stands_by(const Environment& env) { return env("MEGALITH_STANDBY") != nullptr; }

// The agent says which processes this rank replaces.
static FormerRanks stand_by(const LaunchLine& line) {
  line.ready();
  const auto told = line.hear();
  check(told && told->starts_with("go"), "the agent of this standby rank is gone");
  return FormerRanks([pids = told->substr(2)](const char*) { return pids.c_str(); });
}

// From 1 on; without a launch there is one start.
static i64 number_of_start(const Environment& env) {
  const char* start = env("MEGALITH_GENERATION");
  return start ? parse_count(start).value_or(1) : 1;
}

static StartAhead start_ahead(const Environment& env, const Backend& backend, ComparedSnapshots& compared,
                              FormerRanks& former) {
  StartAhead ahead{.number = number_of_start(env), .compared = &compared};
  if (!stands_by(env)) return ahead;
  ahead.take_over = [&, line = LaunchLine(env)] {
    former = stand_by(line);
    compared.begin();
  };
  if (backend.host_bytes())
    ahead.find_room = [&](i64 bytes) {
      former.wait([&] { return backend.available_bytes() - backend.peak_bytes() >= bytes; });
    };
  return ahead;
}

static void plant_faults(Options& options, const Environment& env) {
  if (const char* faults = env("MEGALITH_INJECT")) options.train.inject.emplace_back(faults);
  options.train.inject = faults_of_start(options.train.inject, number_of_start(env));
}

static void refuse(const std::exception_ptr& mistake, const TrainingLine& line, i64 ranks) {
  if (mistake) std::rethrow_exception(mistake);
  check_size(line, ranks);
}

static void settle_kind(Options& options, Architecture kind) {
  const Architecture asked = options.model.architecture;
  if (options.given.has("architecture") && asked != kind)
    options.wrong.mistakes.push_back(
        fmt::format("--architecture is {}, but this command trains {}: leave it out", name_of(asked), name_of(kind)));
  options.trains = options.model.architecture = kind;
}

// The options of the line, with more flags at its end.
static Options options_of(const TrainingLine& line, Architecture kind, const Environment& env,
                          const std::vector<std::string>& more = {}) {
  Options options = line.read(more);
  settle_kind(options, kind);
  options.stack = stack_line();
  plant_faults(options, env);
  return options;
}

// The command of this name, which trains a model of this kind.
static int train_command(const char* name, Architecture kind, int argc, const char* const* argv) {
  const EarlySignals signals;
  const auto env = [](const char* name) -> const char* { return std::getenv(name); };
  const Place place = find_place(env);
  if (place.rank > 0) log::mute();
  Options options;
  TrainingLine line;
  std::exception_ptr mistake;  // in the flags; thrown after the ranks connect, so only one of them prints it
  try {
    if (kind == Architecture::gpt)
      if (const auto nemo = translate_nemo(argv[0], {argv + 1, argv + argc})) answer(*nemo);
    std::vector<const char*> words(argv, argv + argc);
    words[0] = name;  // argv may have a script's name
    line = read_training_line(argc, words.data());
    options = options_of(line, kind, env);
  } catch (const Error&) {
    mistake = std::current_exception();
  }
  if (options.help) {
    log::say("{}", options_help());
    return 0;
  }
  if (line.explain && !mistake) {
    explain_config(line, std::move(options), place);
    return 0;
  }
  settle_drivers();
  ComparedSnapshots compared(SnapshotFds::from(env), place);
  FormerRanks former(env);
  if (!stands_by(env)) compared.begin();
  const std::unique_ptr<Ranks> ranks =
      join(place, {.timeout_seconds = 60 * options.parallel.distributed_timeout_minutes});
  if (!options.train.dry_run || ranks->size() > 1) options.parallel.world_size = ranks->size();
  say_age(options, "all ranks are connected");
  share_cores(ranks->place());
  settle_malloc(num_threads());
  return tell_errors(*ranks, [&] {
    std::unique_ptr<Backend> backend;
    on_all_ranks(*ranks, [&] {
      refuse(mistake, line, options.parallel.world_size);
      if (!options.train.dry_run) find_mistaken_places(options);
      options.train.device.timeout_seconds = 60 * options.parallel.distributed_timeout_minutes;
      if (options.parallel.layout == LayoutChoice::automatic)
        backend = backend_behind(former, options.train.device, *ranks);
    });
    std::vector<std::string> chosen;
    if (backend) chosen = chosen_layout(options, *backend, *ranks);
    on_all_ranks(*ranks, [&] {
      if (backend) {
        const i64 world_size = options.parallel.world_size;
        options = options_of(line, kind, env, chosen);
        options.parallel.world_size = world_size;
      }
      complete_options(options, read_sources(options));
      options.train.device.timeout_seconds = 60 * options.parallel.distributed_timeout_minutes;
      if (!backend) backend = backend_behind(former, options.train.device, *ranks);
    });
    return pretrain(std::move(options), *backend, *ranks, start_ahead(env, *backend, compared, former));
  });
}

int command_pretrain_gpt(int argc, const char* const* argv) {
  return train_command("pretrain-gpt", Architecture::gpt, argc, argv);
}

int command_pretrain_bert(int argc, const char* const* argv) {
  return train_command("pretrain-bert", Architecture::bert, argc, argv);
}
int command_pretrain_t5(int argc, const char* const* argv) {
  return train_command("pretrain-t5", Architecture::t5, argc, argv);
}
int command_pretrain_retro(int argc, const char* const* argv) {
  return train_command("pretrain-retro", Architecture::retro, argc, argv);
}

int command_flags(int argc, const char* const*) {
  check(argc == 1, "it takes no arguments: it prints the page of all training flags");
  log::say("{}", options_page());
  return 0;
}

}  // namespace megalith
