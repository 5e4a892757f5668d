"""Writes tests/golden/batch_ramp.json: batch size and learning rate of 200 steps, as Megatron's own classes have them.

    python tests/train/ramp_reference.py CALCULATOR > tests/golden/batch_ramp.json

needs megatron-core 0.16.1 (ramp-up, rounding down, schedules). CALCULATOR is the file
megatron/core/num_microbatches_calculator.py of a newer Megatron-LM (2026), which has the steps by tokens.
"""
import importlib.util
import json
import sys

from megatron.core import num_microbatches_calculator as calculators
from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler

spec = importlib.util.spec_from_file_location("newer", sys.argv[1])
newer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(newer)

STEPS, MICRO = 200, 2


class Optimizer:
    """As much of one as the scheduler needs: two groups, the second with rates of its own."""

    def __init__(self, decoupled):
        self.param_groups = [{"wd_mult": 1.0}, {"wd_mult": 1.0, **decoupled}]


def case(flags, calculator, nominal, style, warmup, decay, wd=(0.1, 0.1, "constant"), decoupled={}, wsd=None):
    optimizer = Optimizer(decoupled)
    schedule = OptimizerParamScheduler(
        optimizer, 0.0, 1e-3, 1e-5, warmup, decay, style, wd[0], wd[1], decay, wd[2],
        wsd_decay_steps=wsd, lr_wsd_decay_style="exponential" if wsd else None)
    consumed, sizes, rates, others = 0, [], [], []
    for _ in range(STEPS):
        calculator.update(consumed, False)
        size = calculator.get_current_running_global_batch_size()
        if size is None:  # the newer class for steps does not round
            size = calculator.get_current_global_batch_size()
        rates.append(optimizer.param_groups[0]["lr"])
        others.append(optimizer.param_groups[1]["lr"])
        sizes.append(size)
        consumed += size
        schedule.step(increment=size)
    runs = []
    for size in sizes:
        if runs and runs[-1][0] == size:
            runs[-1][1] += 1
        else:
            runs.append([size, 1])
    return {"flags": flags, "sizes": runs, "consumed": consumed, "lr": rates,
            **({"decoupled_lr": others} if decoupled else {})}


def ramp(start, increment, samples, last, ranks, rounds=False):
    return calculators.RampupBatchsizeNumMicroBatchesCalculator(
        last, MICRO, ranks, rounds, 1, start, increment, samples)


lr = "--lr 1e-3 --min-lr 1e-5 "
print(json.dumps([
    case(lr + "--rampup-batch-size 4 4 1000 --global-batch-size 32 --train-samples 5000 --lr-decay-style cosine "
         "--lr-warmup-samples 300 --lr-decay-samples 4000", ramp(4, 4, 1000, 32, 1), 32, "cosine", 300, 4000),
    case(lr + "--rampup-batch-size 16 16 777 --global-batch-size 64 --train-iters 200 --lr-decay-style linear "
         "--lr-warmup-iters 10 --decoupled-lr 2e-4 --decoupled-min-lr 1e-6", ramp(16, 16, 777, 64, 1), 64, "linear",
         640, 200 * 64, decoupled={"max_lr": 2e-4, "min_lr": 1e-6}),
    case(lr + "--rampup-batch-size 7 3 500 --global-batch-size 37 --decrease-batch-size-if-needed --train-iters 200 "
         "--lr-decay-style WSD --lr-wsd-decay-iters 50 --decoupled-lr 3e-3", ramp(7, 3, 500, 37, 1, True), 37, "WSD",
         0, 200 * 37, decoupled={"max_lr": 3e-3}, wsd=50 * 37),
    case(lr + "--step-batch-size-schedule 0:8,16K:12,0.05M:32,.08M:30 --train-iters 200 --lr-decay-style "
         "inverse-square-root --lr-warmup-iters 20",
         newer.StepBatchsizeNumMicroBatchesCalculator(MICRO, 1, False, 1, "0:8,16K:12,0.05M:32,.08M:30", 32), 30,
         "inverse-square-root", 600, 6000),
    case(lr + "--global-batch-size 33 --decrease-batch-size-if-needed --train-iters 200 --lr-decay-style linear",
         calculators.ConstantNumMicroBatchesCalculator(33, MICRO, 1, True, 1), 33, "linear", 0, 200 * 33),
]))
