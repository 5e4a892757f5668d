// The table of metrics. A new one is a row here; docs/adding.md tells how.
#include "observe/metric.h"
#include "step/flops.h"

namespace megalith {

double Seen::flops() const { return flops_per_iteration(options.model, step.samples); }

namespace {

using Maybe = std::optional<double>;

double tokens(const Seen& s) { return double(s.step.samples * s.options.model.seq_length); }

constexpr Metric kMetrics[] = {
    {.name = "consumed_samples",
     .unit = "samples",
     .whole = true,
     .of = [](const Seen& s) -> Maybe { return s.state.consumed_samples; },
     .console = {"consumed samples", "{:12d}"},
     .file = {"consumed_samples"}},
    {.name = "consumed_tokens",
     .unit = "tokens",
     .whole = true,
     .of = [](const Seen& s) -> Maybe { return s.state.consumed_samples * s.options.model.seq_length; },
     .file = {"consumed_tokens"},
     .tensorboard = {"consumed-tokens", Curve::by_iteration}},
    {.name = "skipped_samples",
     .unit = "samples",
     .whole = true,
     .unless_zero = true,
     .of = [](const Seen& s) -> Maybe { return s.state.skipped_samples; },
     .console = {"skipped samples", "{:12d}"},
     .tensorboard = {"skipped-train-samples", Curve::by_iteration}},
    {.name = "iteration_time",
     .unit = "s",
     .of = [](const Seen& s) -> Maybe { return s.seconds; },
     .over_interval = OverInterval::each,
     .console = {"elapsed time per iteration (ms)", "{:.1f}", 1e3},
     .file = {"iteration_ms", 1e3},
     .tensorboard = {"iteration-time", Curve::of_interval}},
    {.name = "throughput",
     .unit = "TFLOP/s",
     .of = [](const Seen& s) -> Maybe { return s.flops() / 1e12 / s.devices; },
     .over_interval = OverInterval::rate,
     .console = {"throughput per GPU (TFLOP/s/GPU)", "{:.1f}", 1, &TrainConfig::log_throughput},
     .file = {"tflops"},
     .tensorboard = {"throughput", Curve::of_interval}},
    {.name = "tokens_per_second",
     .unit = "tokens/s",
     .of = [](const Seen& s) -> Maybe { return tokens(s); },
     .over_interval = OverInterval::rate,
     .file = {"tokens_per_second"}},
    {.name = "tokens_per_second_per_gpu",
     .unit = "tokens/s",
     .of = [](const Seen& s) -> Maybe { return tokens(s) / s.devices; },
     .over_interval = OverInterval::rate,
     .console = {"tokens per second per GPU", "{:.1f}", 1, &TrainConfig::log_throughput}},
    {.name = "mfu",
     .of = [](const Seen& s) { return s.peak ? Maybe(s.flops() / s.devices / *s.peak) : Maybe(); },
     .over_interval = OverInterval::rate,
     .console = {"MFU (%)", "{:.1f}", 100, &TrainConfig::log_throughput},
     .file = {"mfu"}},
    {.name = "data_wait",
     .unit = "s",
     .of = [](const Seen& s) -> Maybe { return s.step.data_wait; },
     .over_interval = OverInterval::each,
     .console = {"data wait per iteration (ms)", "{:.1f}", 1e3, &TrainConfig::log_throughput},
     .file = {"data_wait_ms", 1e3}},
    {.name = "learning_rate",
     .of = [](const Seen& s) -> Maybe { return s.next_rate; },  // as Megatron logs it
     .console = {"learning rate", "{:.6E}"},
     .file = {"learning_rate"},
     .tensorboard = {"learning-rate"}},
    {.name = "global_batch_size",
     .unit = "samples",
     .whole = true,
     .of = [](const Seen& s) -> Maybe { return s.step.samples; },
     .console = {"global batch size", "{:5d}"},
     .file = {"global_batch_size"},
     .tensorboard = {"batch-size"}},
    {.name = "losses",
     .terms = [](const Seen& s) { return s.losses; },
     .over_interval = OverInterval::mean,
     .console = {"{}", "{:.6E}"},
     .file = {"{}"},
     .tensorboard = {"{}"}},
    {.name = "loss_scale",
     .of = [](const Seen&) -> Maybe { return 1; },
     .console = {"loss scale", "{:.1f}"},
     .file = {"loss_scale"},
     .tensorboard = {"loss-scale"}},
    {.name = "grad_norm",
     .of = [](const Seen& s) -> Maybe { return s.step.grad_norm; },
     .console = {"grad norm"},
     .file = {"grad_norm"},
     .tensorboard = {"grad-norm"}},
    {.name = "num_zeros",
     .whole = true,
     .asked = &TrainConfig::log_num_zeros_in_grad,
     .reads_model = true,
     .of = [](const Seen& s) -> Maybe { return s.model.zeros_in_gradients(); },
     .over_ranks = OverRanks::sum,
     .console = {"num zeros", "{}"},
     .file = {"num_zeros"},
     .tensorboard = {"num-zeros"}},
    {.name = "params_norm",
     .asked = &TrainConfig::log_params_norm,
     .reads_model = true,
     .of = [](const Seen& s) -> Maybe { return s.model.squares(); },
     .over_ranks = OverRanks::norm,
     .console = {"params norm"},
     .file = {"params_norm"},
     .tensorboard = {"params-norm"}},
    {.name = "skipped_iterations",
     .unit = "iterations",
     .whole = true,
     .of = [](const Seen& s) -> Maybe { return s.interval.skipped; },
     .console = {"number of skipped iterations", "{:3d}"},
     .file = {"skipped_iterations"}},
    {.name = "nan_iterations",
     .unit = "iterations",
     .whole = true,
     .of = [](const Seen& s) -> Maybe { return s.interval.nan; },
     .console = {"number of nan iterations", "{:3d}"},
     .file = {"nan_iterations"}},
};

constexpr std::string_view kFirstInMetricsFile[] = {
    "consumed_samples", "losses",     "learning_rate", "grad_norm",         "iteration_time", "tokens_per_second",
    "data_wait",        "throughput", "mfu",           "global_batch_size", "loss_scale",     "skipped_iterations",
    "nan_iterations"};
constexpr std::string_view kFirstInTensorBoard[] = {"learning_rate"};

}  // namespace

std::span<const Metric> all_metrics() { return kMetrics; }
std::span<const std::string_view> first_in_metrics_file() { return kFirstInMetricsFile; }
std::span<const std::string_view> first_in_tensorboard() { return kFirstInTensorBoard; }

}  // namespace megalith
