#!/usr/bin/env python3
"""Compares a model of a step's time with 1,549 measured steps of Megatron on A100s (vTrain's data, MICRO 2024).

    bench/vtrain_fit.py FOLDER [FIRST [DRAWS]]

FOLDER has ground_truth_single.csv and ground_truth_multi.csv. The program needs numpy and scipy.

The model has a plan's terms: products, bytes that other kernels move, the host's launches, and all-reduces of tensor
parallelism. It also has messages between stages, the pipeline's bubble, all-reduces of gradients, and the update. It
has ten constants. In each draw, a random fifth of each table fits them. The errors are those of the rest. FIRST is
the seed of the first of 16 draws, or of DRAWS.

A group is one model on one number of GPUs. Its layouts differ in tp, dp, pp, micro-batch and global batch."""
import collections
import csv
import pathlib
import sys

import numpy as np
from scipy.optimize import least_squares

PEAK = 312e12  # flop/s of an A100 in bf16, by its data sheet
VOCABULARY = 51200
NODE = 8  # GPUs
DRAWS = 16
# Name, the value that data sheets suggest, and how far a fit may move (one standard deviation of the logarithm).
# vTrain's configurations say 800 Gb/s of a node's network.
CONSTANTS = [
    ("share of the peak in products", 0.75, 0.1),
    ("size at which a product is half as fast", 100, 0.7),
    ("share of the peak in the vocabulary's products", 0.5, 0.7),
    ("bytes/s of memory", 1.2e12, 0.5),
    ("seconds to launch a layer", 3e-3, 0.5),
    ("more launches of a softmax that is not fused", 0.5, 0.5),
    ("bytes/s of NVLink", 230e9, 0.5),
    ("bytes/s of a node's network, for each GPU", 12.5e9, 0.7),
    ("bytes/s of the update", 1e12, 0.5),
    ("sharpness of the maximum of kernels and launches", 1.0, 0.7),
]
START = np.log([value for _, value, _ in CONSTANTS])
SPREAD = np.array([spread for _, _, spread in CONSTANTS])
NOISE = 0.1  # relative, of a measured step: the weight of the data against START


def read(path):
    """Columns of a table by name, as arrays."""
    with open(path, encoding="utf-8-sig") as f:
        rows = list(csv.DictReader(f))
    names = {"n": "# GPUs", "batch": "global batch", "b": "micro batch", "h": "hidden size", "a": "attention heads", "layers": "# layers",
             "s": "sequence length", "tp": "tensor parallelism", "dp": "data parallelism", "pp": "pipeline parallelism",
             "ms": "iteration time (ms)"}
    return {key: np.array([float(r[name]) for r in rows]) for key, name in names.items()}


def seconds(x, constants):
    """Of a step. x is a table; constants are logarithms, in the order of CONSTANTS."""
    rate, half, rate_of_head, memory, launch, unfused, nvlink, card, update, sharpness = np.exp(constants)
    tokens, tp, pp, dp, h = x["b"] * x["s"], x["tp"], x["pp"], x["dp"], x["h"]
    micro_batches = x["batch"] / (x["b"] * dp)

    def product(m, n, k):
        return 2 * m * n * k / (PEAK * rate) * (1 + half / m + half / n + half / k)

    def all_reduce(ranks, size, rate_of_link):
        return 2 * (ranks - 1) / ranks * size / rate_of_link

    # One pass over a layer: four products, attention's two at half the rate, and values that other kernels move.
    once = product(tokens, 3 * h / tp, h) + product(tokens, h, h / tp) + product(tokens, 4 * h / tp, h) + product(tokens, h, 4 * h / tp)
    once += 4 * tokens * x["s"] * h / tp / (PEAK * rate / 2)
    once += (2 * tokens * h * (10 + 14 / tp) + 10 * x["b"] * x["s"] ** 2 * x["a"] / tp) / memory
    # Four passes: forward, forward again, and the gradients of both operands. Six all-reduces, two in each forward and backward.
    of_tensor = np.where(tp <= NODE, nvlink, np.minimum(nvlink, card * NODE))
    kernels = 4 * once + 6 * all_reduce(tp, 2 * tokens * h, of_tensor)
    # Megatron's fused softmax needs a multiple of four heads x samples on a rank.
    launches = launch * (1 + unfused * ((x["b"] * x["a"] / tp) % 4 != 0))
    longer, shorter = np.maximum(kernels, launches), np.minimum(kernels, launches)
    power = 1 + sharpness
    layer = longer * (1 + (shorter / longer) ** power) ** (1 / power)
    stage = x["layers"] / pp * layer
    # Of each weight a micro-batch writes two gradients (4 bytes), adds them (6), and adds to the step's gradient (10).
    head = VOCABULARY / tp * (tokens * (3 * 2 * h / (PEAK * rate_of_head) + 14 / memory) + 20 * h / memory)
    is_far = x["n"] > NODE
    # A rank sends its part of a message to the next stage. Tensor-parallel ranks gather the parts there.
    message = np.where(pp > 1, 2 * tokens * h / tp / np.where(is_far, card, nvlink) + 2 * tokens * h * (tp - 1) / tp / nvlink, 0)
    step = micro_batches * (stage + head + message) + (pp - 1) * (stage + 2 * message)
    weights = (12 * x["layers"] / pp * h ** 2 + VOCABULARY * h) / tp
    inside = np.clip(NODE / tp, 1, dp)  # ranks of a data-parallel group on one node: each has a network card
    of_data = np.where(is_far, np.minimum(nvlink, card * inside), nvlink)
    # Without a pipeline the all-reduces overlap the last backward, which takes three of the four passes. With one they follow it.
    reduction = all_reduce(dp, 2 * weights, of_data)
    hidden = np.where(pp == 1, np.minimum(reduction, 3 / 4 * stage), 0)
    return step + reduction - hidden + 16 * weights / update


def take(x, which):
    return {key: values[which] for key, values in x.items()}


def fit(x):
    """Least squares of the logarithms' errors. A run can be slower than its machine, but not faster.

    So a Cauchy loss is on one side only. It keeps slow runs from bending the constants. A prediction above the
    measured time counts in full."""
    def off(c):
        errors = np.log(seconds(x, c) * 1e3 / x["ms"]) / NOISE
        return np.concatenate([np.where(errors < 0, -np.sqrt(np.log1p(errors**2)), errors), (c - START) / SPREAD])
    return least_squares(off, START).x


def best_in_first_three(x, constants):
    """The number of groups, and the number in which our first three include the fastest run (by samples/s)."""
    groups = collections.defaultdict(list)
    for i in range(x["ms"].size):
        groups[x["h"][i], x["layers"][i], x["n"][i]].append(i)
    found = 0
    for rows in groups.values():
        group = take(x, np.array(rows))
        first = np.argsort(seconds(group, constants) / group["batch"], kind="stable")[:3]
        found += np.argmin(group["ms"] / group["batch"]) in first
    return len(groups), found


def main():
    folder = pathlib.Path(sys.argv[1])
    seed, draws = [int(word) for word in sys.argv[2:4]] + [0, DRAWS][len(sys.argv[2:4]):]
    for name in ["single", "multi"]:
        x = read(folder / f"ground_truth_{name}.csv")
        fifth = x["ms"].size // 5
        errors, shares = [], []
        for draw in range(seed, seed + draws):
            order = np.random.default_rng(draw).permutation(x["ms"].size)
            constants = fit(take(x, order[:fifth]))
            rest = take(x, order[fifth:])
            errors.append(np.abs(seconds(rest, constants) * 1e3 / rest["ms"] - 1))
            shares.append(best_in_first_three(x, constants))
        means = [100 * e.mean() for e in errors]
        print(f"{name}: {x['ms'].size} steps, fitted on {fifth}, {draws} draws: mean error of the rest {np.mean(means):.1f}% "
              f"({min(means):.1f} to {max(means):.1f}), median {100 * np.median(np.concatenate(errors)):.1f}%, "
              f"worst {100 * max(e.max() for e in errors):.1f}%")
        print(f"  the fastest layout is among the first three in {sum(f for _, f in shares)} of {sum(n for n, _ in shares)} groups")
        print("  " + "; ".join(f"{k} {v:.3g}" for (k, _, _), v in zip(CONSTANTS, np.exp(constants))))


if __name__ == "__main__":
    main()
