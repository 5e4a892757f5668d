#include "observe/series.h"

#include <algorithm>

#include "base/check.h"

namespace megalith {

namespace {

constexpr SeriesKind kGauge = SeriesKind::gauge, kCounter = SeriesKind::counter;

constexpr Series kSeries[] = {
    {"megatron:iteration_time_seconds", kGauge, "Time of the last iteration."},
    {"megatron:grad_norm", kGauge, "Norm of the gradient before clipping, of the last iteration."},
    {"megatron:grad_norm_peak", kGauge, "Largest norm of the gradient of the last 10 minutes."},
    {"megatron:tflops_per_gpu", kGauge, "Model TFLOP/s of a device, of the last iteration."},
    {"megatron:tokens_per_second", kGauge, "Tokens a second over all devices, of the last iteration."},
    {"megatron:samples_per_second", kGauge, "Samples a second over all devices, of the last iteration."},
    {"megatron:mfu", kGauge, "Model flops utilisation of the last iteration, from 0 to 1."},
    {"megatron:loss", kGauge, "Mean loss of the last iteration."},
    {"megatron:learning_rate", kGauge, "Learning rate of the next iteration."},
    {"megatron:loss_scale", kGauge, "Scale of the loss behind the last iteration."},
    {"megatron:params_norm", kGauge, "Norm of the parameters, with --log-params-norm."},
    {"megatron:optimizer_state_norm", kGauge,
     "Norm of each of the optimizer's states, with --log-optimizer-states-to-tensorboard."},
    {"megatron:num_zeros", kGauge, "Zeros in the gradient, with --log-num-zeros-in-grad."},
    {"megatron:fp8_amax_history_max", kGauge,
     "amax of the tensor that comes nearest to its threshold, of fp8 with delayed scaling."},
    {"megatron:fp8_amax_history_threshold", kGauge, "Largest number that its scale can hold."},
    {"megalith_fp8_scale_min", kGauge, "Smallest scale of fp8's delayed scaling, of the last iteration's casts."},
    {"megalith_fp8_scale_max", kGauge, "Largest one."},
    {"megalith_fp8_saturated", kGauge, "Share of values beyond what a scale can hold, in casts of the last iteration."},
    {"megalith_fp8_underflow", kGauge, "Share of values that became 0."},
    {"megatron:validation_loss", kGauge, "Loss of the last evaluation; set: of several validation sets."},
    {"megatron:consumed_samples_total", kCounter, "Samples read since the training began."},
    {"megatron:tokens_total", kCounter, "Tokens read since the training began."},
    {"megatron:skipped_iterations_total", kCounter, "Iterations of this process that changed nothing."},
    {"megatron:nan_iterations_total", kCounter, "Iterations of this process with a loss that is not finite."},
    {"megatron:loss_spikes_total", kCounter, "Iterations of this process whose loss is far above those before."},
    {"megatron:grad_norm_spikes_total", kCounter, "The same of the gradient's norm."},
    {"nccl:allreduce_seconds", SeriesKind::histogram,
     "Time of each all-reduce and reduce-scatter over data- and context-parallel ranks, as this rank sees it."},
    {"megalith_last_step_timestamp_seconds", kGauge, "When the last iteration ended, in seconds since 1970."},
    {"megalith_iteration", kGauge, "The last iteration."},
    {"megalith_train_iters", kGauge, "The iteration at which the run ends."},
    {"megalith_phase_seconds", kGauge, "Time of a phase, when it last ended."},
    {"megalith_memory_bytes", kGauge, "Memory of this rank by category, as planned, and the most that was used."},
    {"megalith_rank_own_seconds", kGauge,
     "Time an iteration that a rank works by itself; the slowest and the fastest ranks, with --log-straggler."},
    {"megalith_rank_loss_deviation", kGauge,
     "How many deviations a data-parallel rank's loss is off its usual distance from the median, with "
     "--log-rank-losses; the 8 that are off most."},
    {"megalith_checkpoint_last_iteration", kGauge, "Iteration of the last checkpoint that was saved."},
    {"megalith_checkpoint_save_seconds", kGauge, "Time that the last save took."},
    {"megalith_checkpoint_bytes", kGauge, "Bytes of the last save that this rank wrote."},
    {"megalith_checkpoint_failures_total", kCounter, "Checkpoints that could not be saved."},
    {"megalith_time_seconds_total", kCounter,
     "Wall time of the run by state, earlier starts too; the states sum to it."},
    {"megalith_gpu_power_watts", kGauge, "Power that this rank's GPU draws, by NVML."},
    {"megalith_gpu_sm_clock_mhz", kGauge, "Clock of its multiprocessors."},
    {"megalith_gpu_temperature_celsius", kGauge, "Its temperature."},
    {"megalith_gpu_throttle", kGauge, "1 where its clocks are lowered for the reason."},
    {"megalith_gpu_ecc_errors_total", kCounter, "Memory errors since the driver was loaded, by kind."},
    {"megalith_gpu_xid_last", kGauge, "The last XID of this process's time; absent before the first."},
    {"megalith_run_info", kGauge, "1; the labels tell the layout."},
    {"megalith_build_info", kGauge, "1; the labels tell the versions of the program and of its libraries."},
};

// 0.2 is the threshold of the alert rule, so it is a bucket limit.
constexpr double kReductionBuckets[] = {.0005, .001, .0025, .005, .01, .025, .05, .1, .15, .2, .3, .5, 1, 2.5, 5, 10};

}  // namespace

std::span<const Series> all_series() { return kSeries; }

const Series& series_named(std::string_view name) {
  const auto it = std::ranges::find(all_series(), name, &Series::name);
  check(it != all_series().end(), "{} is no series: add it to src/observe/series.cpp", name);
  return *it;
}

std::string second_name(std::string_view name) {
  constexpr std::string_view kPrefix = "megatron:";
  return name.starts_with(kPrefix) ? "megatron_" + std::string(name.substr(kPrefix.size())) : "";
}

std::span<const double> reduction_buckets() { return kReductionBuckets; }

}  // namespace megalith
