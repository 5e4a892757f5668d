#include "settings/options_fields_run.h"

namespace megalith {

void list_growing_batches(TrainConfig& c, config::FieldList& f) {
  f.add("rampup-batch-size", c.rampup_batch_size,
        "Global batch that grows: START INCREMENT SAMPLES, from START in increments to --global-batch-size after "
        "SAMPLES.")
      .shown_as("N N N");
  f.add("step-batch-size-schedule", c.step_batch_size_schedule,
        "Global batch by tokens consumed, instead of --global-batch-size: 0:768 250B:1536 (K, M, B, T), quoted or not.")
      .shown_as("TOKENS:SIZE ...");
  f.add("decrease-batch-size-if-needed", c.decrease_batch_size_if_needed,
        "Round the global batch down to what micro-batch-size x data-parallel size divides.");
}

void list_evaluation(TrainConfig& c, config::FieldList& f) {
  f.add("eval-interval", c.eval_interval, "Iterations between evaluations; 0: none during training.");
  f.add("eval-iters", c.eval_iters, "Iterations of an evaluation; 0: no evaluation.");
  f.add("start-eval-at-iter", c.start_eval_at_iter, "No evaluation during training before this iteration.");
  f.add("eval-global-batch-size", c.eval_global_batch_size,
        "Sequences in one iteration of an evaluation; 0: global-batch-size.");
  f.add("eval-micro-batch-size", c.eval_micro_batch_size,
        "--eval-global-batch-size must be a multiple of this times the data-parallel size. Evaluations still "
        "run in micro-batches of --micro-batch-size; the loss is the same.");
  f.add("full-validation", c.full_validation, "Evaluate on all of the validation set, once, instead of --eval-iters.");
  f.add("skip-train", c.skip_train, "Do not train: evaluate the model of --load on the validation and test sets.");
}

void list_incidents(TrainConfig& c, config::FieldList& f) {
  f.add(
      "spike-threshold", c.spike_threshold,
      "A loss or gradient norm this many median absolute deviations above the median of the last 128 steps, and above "
      "1.5 times the median, is an incident; 0: none is. Not in Megatron.");
  f.add("iterations-to-skip", c.iterations_to_skip,
        "Read the data of these iterations and do not train on them. N is the iteration after N finished ones.")
      .shown_as("N ...");
  f.add("skip-samples", c.skip_samples,
        "Leave out the samples that this file names, on all ranks: a number or a range FIRST-LAST in each line. "
        "`megalith blame --write-samples` writes it. Not in Megatron.")
      .shown_as("FILE");
}

void list_doubts(TrainConfig& c, config::FieldList& f) {
  f.add("check-weight-hash-across-dp-replicas-interval", c.weight_hash_interval,
        "Every N iterations, and before each save, compare the bits of each weight on data-parallel ranks. A "
        "difference ends the run with exit code 16; 0: never.")
      .shown_as("N");
  f.add("consistency-check", c.consistency_check, "The same at each log line, if no interval is given.");
  f.add("replay-interval", c.replay_interval,
        "Every N iterations compute a micro-batch's gradients twice. If their bits differ, a third time shows"
        " whether the fault is permanent; 0: never. Not in Megatron.");
  f.add("rerun-mode", c.rerun_mode, {"disabled", "validate_results", "report_stats"},
        "With --replay-interval: validate_results ends the run at a difference, with exit code 16 for a "
        "transient fault and 17 for a permanent one. report_stats warns. disabled: no replay.");
}

void list_faults(TrainConfig& c, config::FieldList& f) {
  f.add("inject", c.inject,
        "Faults to inject, for tests of their detection: KIND@RANK:ITERATION[:ARGUMENT...], of the kinds nan, flip, "
        "slow, kill, term, stop, abort, segv, throw, hang, exit, oom, drop, disk, agent-kill and controller-kill. Or "
        "storm:mtbf=Ns:seed=N: random failures. Not in Megatron.")
      .shown_as("FAULT ...");
  f.add("inject-allowed", c.inject_allowed, "Without it --inject is refused. Not in Megatron.");
}

void list_timing(TrainConfig& c, config::FieldList& f) {
  f.add("log-rank-losses", c.log_rank_losses,
        "Also print the mean loss of each data-parallel rank, and name a rank that diverges from the others. Not in "
        "Megatron.");
  f.add("timing-log-level", c.timing_log_level,
        "If given, print times with each line: 0: iterations, saves and evaluations; 1: also the phases of an "
        "iteration; 2: also their parts.");
  f.add("timing-log-option", c.timing_log_option, {"max", "minmax", "all"},
        "How the ranks' times are printed: the longest, the shortest and the longest, or all.");
}

}  // namespace megalith
