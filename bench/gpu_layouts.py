#!/usr/bin/env python3
"""Compares predicted and measured step times and memory of fourteen layouts on two GPUs of one host.

    bench/gpu_layouts.py MEGALITH FOLDER [WORDS OF MPIRUN...]

The GPUs calibrate on two layers of each of three models. Then all predictions are written to
FOLDER/predicted.json, before the first run. Layouts of one GPU run two at a time, one on each GPU. FOLDER/rows.jsonl
has a row for each layout. Times are medians of the iterations after the first three."""
import concurrent.futures
import itertools
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

ITERATIONS = 10
COMMON = (f"--bf16 --mock-data --train-iters {ITERATIONS} --lr 1e-4 --log-interval 1 --eval-iters 0 --attention-dropout 0 "
          "--hidden-dropout 0 ").split()
MODELS = {
    "Llama 3 8B's shape, 8 layers":
        "--num-layers 8 --hidden-size 4096 --num-attention-heads 32 --group-query-attention --num-query-groups 8 --ffn-hidden-size "
        "14336 --seq-length 8192 --max-position-embeddings 8192 --vocab-size 128256 --swiglu --normalization RMSNorm "
        "--disable-bias-linear --position-embedding-type rope --rotary-base 500000 --untie-embeddings-and-output-weights",
    "Qwen3-30B-A3B, 6 layers, s4096, balanced experts":
        "--num-layers 6 --hidden-size 2048 --num-attention-heads 32 --group-query-attention --num-query-groups 4 --kv-channels 128 "
        "--ffn-hidden-size 6144 --seq-length 4096 --max-position-embeddings 4096 --vocab-size 151936 --swiglu --normalization "
        "RMSNorm --disable-bias-linear --position-embedding-type rope --rotary-base 1000000 --untie-embeddings-and-output-weights "
        "--qk-layernorm --num-experts 128 --moe-router-topk 8 --moe-ffn-hidden-size 768 --moe-router-force-load-balancing",
    "GPT-3 1.3B, s2048":
        "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --vocab-size "
        "50257",
}
LLAMA, QWEN, GPT3 = MODELS
TWO = "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather"
TP2 = "--tensor-model-parallel-size 2 --sequence-parallel"
PP2 = "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2"
# Of each GPU in turn: a model, and the micro-batch of its two layers. Both GPUs calibrate the first one together.
TOGETHER = (LLAMA, 2)
ALONE = [[(LLAMA, 1), (QWEN, 1)], [(GPT3, 8)]]
# Model, layout, GPUs, flags.
LAYOUTS = [
    (LLAMA, "one GPU, micro-batch 2", 1, "--micro-batch-size 2 --global-batch-size 4"),
    (LLAMA, "one GPU, recompute mlp", 1,
     "--micro-batch-size 2 --global-batch-size 4 --recompute-granularity selective --recompute-modules mlp"),
    (LLAMA, "DP2", 2, f"--micro-batch-size 2 --global-batch-size 4 {TWO}"),
    (LLAMA, "TP2", 2, f"--micro-batch-size 2 --global-batch-size 4 {TP2}"),
    (LLAMA, "PP2, interleaved by 2", 2, f"--micro-batch-size 1 --global-batch-size 8 {PP2}"),
    (LLAMA, "CP2", 2, f"--micro-batch-size 2 --global-batch-size 4 --context-parallel-size 2 {TWO}"),
    (QWEN, "one GPU, micro-batch 1", 1, "--micro-batch-size 1 --global-batch-size 4"),
    (QWEN, "one GPU, recompute moe", 1,
     "--micro-batch-size 1 --global-batch-size 4 --recompute-granularity selective --recompute-modules moe"),
    (QWEN, "EP2", 2, f"--micro-batch-size 1 --global-batch-size 4 --expert-model-parallel-size 2 {TWO}"),
    (GPT3, "one GPU, micro-batch 8", 1, "--micro-batch-size 8 --global-batch-size 16"),
    (GPT3, "one GPU, recompute full", 1, "--micro-batch-size 8 --global-batch-size 16 --recompute-granularity full"),
    (GPT3, "DP2", 2, f"--micro-batch-size 8 --global-batch-size 32 {TWO}"),
    (GPT3, "TP2", 2, f"--micro-batch-size 8 --global-batch-size 16 {TP2}"),
    (GPT3, "PP2, interleaved by 2", 2, f"--micro-batch-size 4 --global-batch-size 32 {PP2}"),
]


def run(words, **environment):
    done = subprocess.run(words, text=True, capture_output=True, env={**os.environ, **environment}, timeout=150)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done.stdout + done.stderr


# The milliseconds of a step, and the memory in MiB of the rank that uses most.
def measured(megalith, mpirun, layout, gpu):
    model, _, gpus, flags = layout
    words = [megalith, "pretrain-gpt", *COMMON, *MODELS[model].split(), *flags.split(), "--device", "cuda"]
    said = run(mpirun + words) if gpus == 2 else run(words, CUDA_VISIBLE_DEVICES=str(gpu))
    steps = [float(ms) / 1e3 for ms in re.findall(r"elapsed time per iteration \(ms\): (\S+)", said)]
    used = re.search(r"^memory.*? used (\S+) MiB", said, re.MULTILINE)[1]
    return statistics.median(steps[3:]) * 1e3, float(used.replace(",", ""))


def predicted(megalith, facts, layout):
    model, _, gpus, flags = layout
    said = run([megalith, "pretrain-gpt", *COMMON, *MODELS[model].split(), *flags.split(), "--world-size", str(gpus), "--dry-run",
                "--device", facts[model]])
    total = re.search(r"^  total +\d+ bytes +(\S+) MiB", said, re.MULTILINE)[1]
    return float(re.search(r"predicted: (\S+) s a step", said)[1]) * 1e3, float(total)


def kendall(pairs):
    signs = [(a[0] - b[0]) * (a[1] - b[1]) for a, b in itertools.combinations(pairs, 2)]
    return sum((s > 0) - (s < 0) for s in signs) / len(signs)


def main():
    megalith, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    mpirun = ["mpirun", "-n", "2", *sys.argv[3:]]
    name = "h200-sxm" if "H200" in run(["nvidia-smi", "-L"]) else "h100-sxm"
    began, facts = time.time(), {model: f"{folder}/model{i}.yaml" for i, model in enumerate(MODELS)}
    transfers = f"{folder}/transfers.yaml"

    def calibrate(launcher, out, model, micro_batch, gpus):
        run(launcher + [megalith, "calibrate", "--device", "cuda", "--name", name, "--out", out, *MODELS[model].split(), "--bf16",
                        "--micro-batch-size", str(micro_batch), *([] if model == QWEN else ["--tensor-model-parallel-size", "2"])],
            CUDA_VISIBLE_DEVICES=gpus)

    def calibrate_alone(gpu):
        for model, micro_batch in ALONE[gpu]:
            calibrate([], facts[model], model, micro_batch, str(gpu))

    calibrate(mpirun, transfers, *TOGETHER, "0,1")
    for path in facts.values():
        shutil.copy(transfers, path)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(calibrate_alone, range(2)))
    print(f"calibrated in {time.time() - began:.0f} s", flush=True)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        foretold = list(pool.map(lambda layout: predicted(megalith, facts, layout), LAYOUTS))
    with open(f"{folder}/predicted.json", "w") as f:
        json.dump([[*layout[:2], *values] for layout, values in zip(LAYOUTS, foretold)], f)
    print(f"predicted after {time.time() - began:.0f} s", flush=True)
    ran = {}
    one = [i for i, layout in enumerate(LAYOUTS) if layout[2] == 1]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        halves = [pool.submit(lambda g: [(i, measured(megalith, mpirun, LAYOUTS[i], g)) for i in one[g::2]], gpu) for gpu in range(2)]
        for half in halves:
            ran.update(half.result())
    rows = []
    for i, layout in enumerate(LAYOUTS):
        ms, used = ran[i] = ran.get(i) or measured(megalith, mpirun, layout, 0)
        rows.append({"model": layout[0], "layout": layout[1], "foretold, ms": f"{foretold[i][0]:,.1f}", "ran, ms": f"{ms:,.1f}",
                     "off": f"{foretold[i][0] / ms - 1:+.1%}", "foretold, MiB": f"{foretold[i][1]:,.1f}", "used, MiB": f"{used:,.1f}"})
        print(f"{time.time() - began:4.0f} s  {json.dumps(rows[-1])}", flush=True)
        with open(f"{folder}/rows.jsonl", "a") as f:
            f.write(json.dumps(rows[-1]) + "\n")
    off, memory = [[foretold[i][k] / ran[i][k] - 1 for i in range(len(LAYOUTS))] for k in range(2)]
    print(f"{sum(abs(x) <= 0.05 for x in off)} of {len(off)} are within 5%, the worst {max(off, key=abs):+.1%}; memory within "
          f"{max(map(abs, memory)):.2%}; Kendall's tau {kendall([(foretold[i][0], ran[i][0]) for i in ran]):.2f}")


if __name__ == "__main__":
    main()
