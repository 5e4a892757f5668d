// All options of a training command: one bundle of the folders' config structs, read from the command line and
// --config.
//
// A command calls read_options, and then finish_options. Between them it sets options that only it knows (the model of
// a hub directory, the tokenizer's vocabulary). parse_options calls both.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "config/parse.h"
#include "data/config.h"
#include "models/config.h"
#include "optim/config.h"
#include "passes/offload_activations.h"
#include "passes/quantize.h"
#include "passes/recompute.h"
#include "settings/device_options.h"
#include "settings/observe_options.h"
#include "settings/parallel.h"
#include "tokens/tokenizer.h"

namespace megalith {

// The signal that saves and stops like SIGTERM.
enum class ExitSignal { term, interrupt, user1, user2, hang_up };

enum class SaveFormat { native, torch_dist, torch };  // torch: Megatron's old one, which is only read

// Log levels: debug adds all arguments and the plan; warning omits the start's lines, error also warnings.
enum class LogLevel { debug, info, warning, error };

enum class TimingLogOption { max, minmax, all };  // of the ranks' times

enum class RerunMode { disabled, validate_results, report_stats };  // when a result differs when computed again

enum class NonPersistentType { none, global, local };  // of saves of which only the latest stays

inline constexpr i64 kAutoSaveInterval = -1;  // of --save-interval: chosen by the run itself

struct TrainConfig {
  i64 micro_batch_size = 0;   // sequences in one forward and backward
  i64 global_batch_size = 0;  // sequences in one update; 0: micro_batch_size x data-parallel size
  // How the global batch grows (settings/batch_sizes.h): START INCREMENT SAMPLES, or "0:768 250B:1536"; empty: it
  // doesn't.
  std::vector<std::string> rampup_batch_size;
  std::vector<std::string> step_batch_size_schedule;
  bool decrease_batch_size_if_needed = false;  // to what micro-batches and ranks divide
  i64 train_iters = 0;                         // exactly one of the two
  i64 train_samples = 0;
  i64 exit_interval = 0;             // leave after an iteration that is a multiple of this; 0: never
  double exit_duration_in_mins = 0;  // leave after this time; 0: never
  ExitSignal exit_signal = ExitSignal::term;
  i64 seed = 1234;
  bool bf16 = false, fp16 = false;
  DeviceOptions device;
  bool check_for_nan_in_loss_and_grad = true;
  i64 max_skipped_in_a_row = 10;   // iterations, then the run ends by an error; 0: never
  double spike_threshold = 10;     // median absolute deviations above the median: an incident; 0: none is looked for
  i64 weight_hash_interval = 0;    // iterations between comparisons of copies of weights; 0: none
  bool consistency_check = false;  // with each line of the log
  i64 replay_interval = 0;         // iterations between micro-batches that are computed again; 0: none are
  RerunMode rerun_mode = RerunMode::validate_results;
  i64 hash_interval() const {
    return weight_hash_interval > 0 || !consistency_check ? weight_hash_interval : log_interval;
  }
  std::vector<i64> iterations_to_skip;  // whose data are read and not trained on
  std::string skip_samples;             // file of samples that are read and not trained on
  std::vector<std::string> inject;      // faults (inject/fault.h)
  bool inject_allowed = false;

  i64 eval_interval = 1000;        // 0: no evaluation while training
  i64 eval_iters = 100;            // 0: no evaluation at all
  i64 start_eval_at_iter = 0;      // no evaluations before it
  i64 eval_global_batch_size = 0;  // 0: global_batch_size
  i64 eval_micro_batch_size = 0;   // 0: micro_batch_size
  bool full_validation = false;    // all of the validation set, instead of eval_iters
  bool skip_train = false;         // evaluate the loaded model, and stop

  bool evaluates() const { return eval_iters > 0 || full_validation; }
  i64 eval_batch() const { return eval_global_batch_size > 0 ? eval_global_batch_size : global_batch_size; }

  std::string save;
  std::string load;
  SaveFormat ckpt_format = SaveFormat::native;
  i64 save_interval = 0;
  double gpu_mtbf_hours = 50700;         // of one GPU: Llama 3, 419 failures of 16,384 GPUs in 54 days
  i64 save_retain_interval = 0;          // older checkpoints at other multiples are deleted; 0: all stay
  i64 most_recent_k = 0;                 // this many newest checkpoints stay; 0: all
  bool async_save = false;               // written during training
  bool ckpt_fully_parallel_save = true;  // ranks that hold the same state share the writing
  i64 dist_ckpt_workers = 2;             // threads of a rank that write
  i64 non_persistent_save_interval = 0;  // additional saves, only the latest kept; 0: none
  NonPersistentType non_persistent_ckpt_type = NonPersistentType::none;
  std::string non_persistent_global_ckpt_dir;
  std::string non_persistent_local_ckpt_dir;
  i64 ckpt_step = 0;                  // load this iteration; 0: the latest
  bool finetune = false;              // weights only, from iteration 0
  bool moe_use_upcycling = false;     // --load has a dense model, from which experts are made
  i64 moe_upcycling_granularity = 1;  // pieces that its MLP is cut into
  bool no_load_optim = false;
  bool no_load_rng = false;
  bool no_save_optim = false;
  bool no_save_rng = false;
  bool exit_on_missing_checkpoint = false;

  LogLevel log_level = LogLevel::info;
  i64 log_interval = 100;
  bool log_throughput = false;
  bool log_params_norm = false;
  bool log_num_zeros_in_grad = false;
  bool log_expert_load = false;               // how evenly tokens are distributed over experts
  bool moe_per_layer_logging = false;         // the same and the router's losses, of each layer
  i64 save_tokens_per_expert_interval = 0;    // 0: never
  bool log_straggler = false;                 // with each line, which ranks are slow by themselves
  i64 straggler_minmax_count = 1;             // number at either end
  bool disable_straggler_on_startup = false;  // and nothing switches it on later
  bool log_rank_losses = false;               // with each line, each data-parallel rank's loss
  i64 timing_log_level = 0;                   // 0 to 2: which times are printed, if the flag is given
  TimingLogOption timing_log_option = TimingLogOption::minmax;
  bool progress = true;  // a live line, on a terminal
  std::string tensorboard_dir;
  i64 tensorboard_log_interval = 1;
  bool log_timers_to_tensorboard = false;
  bool log_memory_to_tensorboard = false;
  bool log_validation_ppl_to_tensorboard = false;
  bool log_world_size_to_tensorboard = false;
  bool log_optimizer_states_to_tensorboard = false;
  std::string metrics_file;
  ObserveConfig observe;

  bool profile = false;
  i64 profile_step_start = 10;  // iterations done before the profiled ones
  i64 profile_step_end = 12;    // the last profiled one

  bool dry_run = false;
  bool print_graph = false;
  bool print_plan = false;

  bool operator==(const TrainConfig&) const = default;
};

struct Options {
  ModelConfig model;
  TrainConfig train;
  OptimizerConfig optimizer;
  DataConfig data;
  TokenizerConfig tokenizer;
  ParallelConfig parallel;
  RecomputeConfig recompute;
  OffloadConfig offload;  // of activations
  QuantizeConfig quantize;

  std::optional<Architecture> trains{};  // kind of model that the command trains; none: it reads an existing model

  config::Given given;             // fields that the user set, and by which flag
  config::Wrong wrong;             // options that could not be read, or are refused: finish_options reports them
  std::vector<std::string> notes;  // for the start-up log: flags without effect, warnings, differences from Megatron
  bool help = false;               // --help: print options_help() and leave
  std::string stack{};             // program, build and machine in one line; empty: not reported
};

void list_fields(TrainConfig& c, config::FieldList& f);
void list_fields(ObserveConfig& c, config::FieldList& f);
void list_fields(ParallelConfig& c, config::FieldList& f);
void list_fields(RecomputeConfig& c, config::FieldList& f);
void list_fields(OffloadConfig& c, config::FieldList& f);
void list_fields(QuantizeConfig& c, config::FieldList& f);
// The user's settings; the rest of the struct (seed, seq_length, the tokenizer's ids) is copied from elsewhere.
void list_fields(DataConfig& c, config::FieldList& f);
// Without --vocab-size, which is the model's: finish_options copies it. A command that has no model adds the flag
// itself.
void list_fields(TokenizerConfig& c, config::FieldList& f);
void list_fields(Options& c, config::FieldList& f);  // all of the above

// Reads the command line; argv[0] (the subcommand) is ignored. Checks only spelling and types of values, and keeps
// mistakes in `wrong`.
Options read_options(int argc, const char* const* argv);

// Takes the parsed values of a list that includes the options' fields. `command`: its name, for advice.
void take_parsed(Options& options, config::ParseResult result, const std::string& command);

// Fills in values that follow from others.
void derive(Options& options);

// Fills in derived values, then checks everything against the compatibility table. Throws Mistakes with all violations;
// else adds the warnings and the differences from Megatron to the notes. Does nothing if help is requested.
void finish_options(Options& options);
// Only the throwing, if the rules can't be checked because the model is not known. `missing`: the line that names the
// missing required flags; empty if there are none.
void refuse_wrong(const Options& options, const std::string& missing = {});

Options parse_options(int argc, const char* const* argv);

std::string options_help();
// The page of all flags, Megatron's without effect and the missing ones included, as Markdown.
std::string options_page();
// The arguments as Megatron prints them at start.
std::string arguments_text(Options options);

// Defaults or meanings that differ from Megatron's and matter to these options; one line each.
std::vector<std::string> differences_from_megatron(const Options& options);

}  // namespace megalith
