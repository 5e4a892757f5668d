#!/usr/bin/env python3
"""How near a model of a step's time comes to 1,549 measured steps of Megatron on A100s (the data of vTrain, MICRO 2024).

    bench/vtrain_fit.py FOLDER    # with ground_truth_single.csv and ground_truth_multi.csv; needs numpy

The terms are those that plans have: products at a rate that falls with their size, what attention's matrix and the other values move, a
fixed cost of a layer, sums over tensor-parallel ranks, messages between stages, the pipeline's idle time, sums of gradients over
data-parallel ranks, the update. The constants are fitted on a random fifth of each table, and the error is that of the rest."""
import csv
import pathlib
import sys

import numpy as np

PEAK = 312e12  # flop/s of an A100 in bf16, the sheet's
VOCABULARY = 51200
NODE = 8
CONSTANTS = ["product rate", "tokens of half rate", "width of half rate", "attention bytes", "layer bytes", "layer seconds",
             "tensor link", "network link", "update rate", "overlap"]
START = np.log([0.75, 500, 300, 1.5e12, 1.5e12, 3e-4, 200e9, 20e9, 1.0e12, 0.5])


def read(path):
    """Columns of a table by name, as arrays."""
    with open(path, encoding="utf-8-sig") as f:
        rows = list(csv.DictReader(f))
    names = {"n": "# GPUs", "batch": "global batch", "b": "micro batch", "h": "hidden size", "a": "attention heads", "layers": "# layers",
             "s": "sequence length", "tp": "tensor parallelism", "dp": "data parallelism", "pp": "pipeline parallelism",
             "ms": "iteration time (ms)"}
    return {key: np.array([float(r[name]) for r in rows]) for key, name in names.items()}


def seconds(x, constants):
    """Of a step: x is a table, constants are logarithms."""
    rate, half_tokens, half_width, attention, moved, fixed, tensor, network, update, hidden = np.exp(constants)
    tokens, tp, pp, dp = x["b"] * x["s"], x["tp"], x["pp"], x["dp"]
    micro = x["batch"] / (x["b"] * dp)
    width = x["h"] / tp
    speed = PEAK * rate * tokens / (tokens + half_tokens) * width / (width + half_width)
    flops = (24 * tokens * x["h"] ** 2 + 4 * tokens * x["s"] * x["h"]) / tp
    passes = 4  # forward, forward again, backward of both factors
    layer = passes * flops / speed + fixed
    layer += passes * 2 * x["b"] * x["s"] ** 2 * x["a"] / tp * 4 / attention
    layer += passes * 2 * tokens * x["h"] * (6 + 10 / tp) / moved
    within = np.where(tp <= NODE, tensor, np.minimum(tensor, network))
    layer += np.where(tp > 1, 6 * 2 * (tp - 1) / tp * 2 * tokens * x["h"] / within, 0)
    head = 6 * tokens * x["h"] * VOCABULARY / tp / speed + 12 * tokens * VOCABULARY / tp / moved
    stage = x["layers"] / pp * layer
    slowest = stage + head
    sent = np.where(pp > 1, 2 * tokens * x["h"] * 2 / np.where(x["n"] > NODE, network, tensor), 0)
    step = micro * np.where(pp > 1, np.maximum(stage, slowest), slowest) + (pp - 1) * (stage + sent)
    own = (12 * x["layers"] / pp * x["h"] ** 2 + VOCABULARY * x["h"]) / tp
    inside = np.minimum(dp, np.maximum(1, NODE / tp))
    link = np.where(x["n"] <= NODE, tensor, np.minimum(tensor, network * inside))
    step += hidden * np.where(dp > 1, 2 * (dp - 1) / dp * 2 * own / link, 0)
    return step + own * 16 / update


def error(x, constants):
    return np.abs(seconds(x, constants) * 1e3 / x["ms"] - 1)


def take(x, which):
    return {key: values[which] for key, values in x.items()}


def fit(x):
    """Least squares of the errors, by Gauss-Newton steps with damping from several starts."""
    def off(c):
        return np.log(seconds(x, c) * 1e3 / x["ms"])
    best, least = START, np.inf
    for seed in range(6):
        c = START + np.random.default_rng(seed).normal(0, 0.3 * (seed > 0), START.size)
        damping, r = 1.0, off(c)
        for _ in range(300):
            slope = np.stack([(off(c + 1e-5 * e) - r) / 1e-5 for e in np.eye(c.size)], axis=1)
            # Far starts are held near by a weak pull to what the sheets say.
            left = slope.T @ slope + (damping + 1e-3) * np.eye(c.size)
            step = np.linalg.solve(left, -slope.T @ r - 1e-3 * (c - START))
            now = off(c + step)
            if now @ now < r @ r:
                c, r, damping = c + step, now, damping / 3
            else:
                damping *= 4
            if damping > 1e12:
                break
        if r @ r < least:
            best, least = c, r @ r
    return best


def main():
    folder = pathlib.Path(sys.argv[1])
    for name in ["single", "multi"]:
        x = read(folder / f"ground_truth_{name}.csv")
        order = np.random.default_rng(0).permutation(x["ms"].size)
        fifth = order.size // 5
        constants = fit(take(x, order[:fifth]))
        rest = error(take(x, order[fifth:]), constants)
        print(f"{name}: {order.size} steps, fitted on {fifth}: mean error of the rest {100 * rest.mean():.1f}%, median "
              f"{100 * np.median(rest):.1f}%, worst {100 * rest.max():.1f}%")
        print("  " + ", ".join(f"{k} {v:.3g}" for k, v in zip(CONSTANTS, np.exp(constants))))


if __name__ == "__main__":
    main()
