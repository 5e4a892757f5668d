#!/usr/bin/env python3
"""Compares predicted and measured step times of twelve layouts of two CPU ranks, on a machine that other programs use.

    setsid -w bench/cpu_layouts.py [MEGALITH] [ROUNDS]

Each round calibrates the machine, writes all predictions to a file, and then runs each layout. Other programs only add
time. So the table compares the smallest prediction of all rounds with the fastest step of all rounds. It also has the
range of the errors of single rounds. Each rank has a core of its own. A new session may raise its share of the cores
(autogroup); root is needed."""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

MODEL = ("--num-layers 4 --hidden-size 384 --num-attention-heads 6 --seq-length 512 --vocab-size 4096 --swiglu "
         "--normalization RMSNorm --disable-bias-linear --position-embedding-type rope --global-batch-size 8 --mock-data "
         "--train-iters 8 --lr 1e-3 --log-interval 1 --eval-iters 0 ").split()
LAYOUTS = {
    "DP2, micro-batch 1": "--micro-batch-size 1",
    "DP2, micro-batch 2": "--micro-batch-size 2",
    "DP2, micro-batch 4": "--micro-batch-size 4",
    "DP2, recompute full": "--micro-batch-size 2 --recompute-granularity full",
    "TP2, micro-batch 1": "--tensor-model-parallel-size 2 --micro-batch-size 1",
    "TP2, micro-batch 2": "--tensor-model-parallel-size 2 --micro-batch-size 2",
    "TP2, sequence parallel": "--tensor-model-parallel-size 2 --sequence-parallel --micro-batch-size 2",
    "PP2, micro-batch 1": "--pipeline-model-parallel-size 2 --micro-batch-size 1",
    "PP2, micro-batch 2": "--pipeline-model-parallel-size 2 --micro-batch-size 2",
    "PP2, interleaved by 2": "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 --micro-batch-size 1",
    "CP2, ring": "--context-parallel-size 2 --micro-batch-size 1",
    "CP2, all-gather": "--context-parallel-size 2 --cp-comm-type all_gather --micro-batch-size 1",
}
CPUS = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--map-by", "core", "--bind-to", "core", "-n", "2", "-x", "OMP_NUM_THREADS=1"]


def run(words):
    done = subprocess.run(words, text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def round_of(megalith, folder, number):
    facts, written = f"{folder}/cpu{number}.yaml", f"{folder}/predicted{number}.json"
    run(CPUS + [megalith, "calibrate", "--device", "cpu", "--seconds", "20", "--out", facts])
    predicted = {}
    for name, flags in LAYOUTS.items():
        said = run([megalith, "pretrain-gpt", *MODEL, *flags.split(), "--world-size", "2", "--dry-run", "--device", facts])
        predicted[name] = float(re.search(r"predicted: (\S+) s a step", said)[1])
    with open(written, "w") as f:
        json.dump(predicted, f)
    ran = {}
    for name, flags in LAYOUTS.items():
        said = run(CPUS + [megalith, "pretrain-gpt", *MODEL, *flags.split(), "--device", "cpu"])
        steps = [float(ms) / 1e3 for ms in re.findall(r"elapsed time per iteration \(ms\): (\S+)", said)][1:]
        ran[name] = min(steps)
        print(f"round {number}: {name:24} predicted {predicted[name]:.3f} s, ran {min(steps):.3f} s "
              f"(median {statistics.median(steps):.3f}), {predicted[name] / ran[name] - 1:+.1%}", flush=True)
    return predicted, ran


def main():
    megalith = sys.argv[1] if len(sys.argv) > 1 else "build/bin/megalith"
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    try:
        with open("/proc/self/autogroup", "w") as f:
            f.write("-19")
    except OSError:
        pass  # without it the result has more noise
    with tempfile.TemporaryDirectory() as folder:
        seen = [round_of(os.path.abspath(megalith), folder, i) for i in range(rounds)]
    within = 0
    for name in LAYOUTS:
        predicted, ran = [min(of_round[i][name] for of_round in seen) for i in range(2)]
        errors = [p[name] / r[name] - 1 for p, r in seen]
        within += abs(predicted / ran - 1) <= 0.1
        print(f"{name:24} predicted {predicted:.3f} s, ran {ran:.3f} s, {predicted / ran - 1:+6.1%}  "
              f"(rounds {min(errors):+.1%} to {max(errors):+.1%})")
    print(f"{within} of {len(LAYOUTS)} are within 10%")


if __name__ == "__main__":
    main()
