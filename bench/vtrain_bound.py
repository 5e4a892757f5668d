#!/usr/bin/env python3
"""Prints the least worst error that an ordered model of a step's time can have on vTrain's measured steps.

    bench/vtrain_bound.py FOLDER

FOLDER is that of vtrain_fit.py. The program needs numpy and scipy.

The class of models is wide. Each width, tp and micro-batch has its own time of a layer, of the vocabulary's products
and of a message. Each layout has its own time outside the micro-batches. Only their order is fixed. A larger
micro-batch takes no less time, and no more time per sample. An exception is a softmax that only the larger one can
fuse. K times the tensor-parallel ranks give at most K times the speed. A layer K times as wide takes 1 to K^2 times as
long. With a larger micro-batch no more of the gradients' all-reduces remains visible.

A linear program finds whether such a model exists for a worst error. A bisection finds the least one. The bound holds
for a model that is fitted to all steps. So more fitted data cannot help."""
import itertools
import pathlib
import sys

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

import vtrain_fit


class Model:
    """Unknown times by key, the steps as sums of them, and the inequalities of their order. An inequality is a sum <= 0."""

    def __init__(self):
        self.unknowns, self.steps, self.order, self.unfused = {}, [], [], set()

    def unknown(self, *key):
        return self.unknowns.setdefault(key, len(self.unknowns))

    def add_step(self, n, h, s, a, tp, pp, dp, layers, b, batch):
        micro_batches = batch / (b * dp)
        step = {self.unknown("layer", h, s, tp, b): (micro_batches + pp - 1) * layers / pp, self.unknown("head", h, s, tp, b): micro_batches}
        if b * a / tp % 4 != 0:
            self.unfused.add(self.unknown("layer", h, s, tp, b))
        if pp > 1:
            step[self.unknown("message", h, s, tp, n > vtrain_fit.NODE, b)] = micro_batches + 2 * (pp - 1)
        # Without a pipeline, gradients' all-reduces overlap the backward. So their visible part depends on the micro-batch.
        step[self.unknown("once", h, layers, n, tp, dp, pp, b if pp == 1 else 0)] = 1
        self.steps.append(step)

    def add_orders(self):
        for key, i in list(self.unknowns.items()):
            kind, *axes = key
            larger = self.next_along(key, len(axes))
            if larger and kind == "once":
                self.order.append({larger[1]: 1, i: -1})
            elif larger:
                self.order.append({larger[1]: 1, i: -larger[0]})
                if i not in self.unfused or larger[1] in self.unfused:
                    self.order.append({i: 1, larger[1]: -1})
            if kind != "layer":
                continue
            if more_ranks := self.next_along(key, 3):
                self.order.append({i: 1, more_ranks[1]: -more_ranks[0]})
            if wider := self.next_along(key, 1):
                self.order += [{i: 1, wider[1]: -1}, {wider[1]: 1, i: -wider[0]**2}]

    def next_along(self, key, axis):
        """The ratio of the next larger value on one axis, and the unknown there. None if there is no larger one."""
        same = [k for k in self.unknowns if k[:axis] == key[:axis] and k[axis + 1:] == key[axis + 1:] and k[axis] > key[axis]]
        if not same:
            return None
        after = min(same, key=lambda k: k[axis])
        return after[axis] / key[axis], self.unknowns[after]


def least_worst_error(x, rows):
    model = Model()
    for i in rows:
        model.add_step(*(x[name][i] for name in ["n", "h", "s", "a", "tp", "pp", "dp", "layers", "b", "batch"]))
    model.add_orders()
    entries = [(r, k, v) for r, sums in enumerate(itertools.chain(model.steps, model.order)) for k, v in sums.items()]
    r, k, v = map(np.array, zip(*entries))
    a = csr_matrix((v, (r, k)), shape=(len(model.steps) + len(model.order), len(model.unknowns))).toarray()
    steps, order = a[:len(rows)] / x["ms"][rows, None], a[len(rows):]
    low, high = 0.0, 1.0
    while high - low > 1e-3:
        error = (low + high) / 2
        limits = np.concatenate([np.full(len(rows), 1 + error), np.full(len(rows), error - 1), np.zeros(len(order))])
        feasible = linprog(np.zeros(a.shape[1]), A_ub=np.concatenate([steps, -steps, order]), b_ub=limits, method="highs").status == 0
        low, high = (low, error) if feasible else (error, high)
    return low


def main():
    folder = pathlib.Path(sys.argv[1])
    for name in ["single", "multi"]:
        x = vtrain_fit.read(folder / f"ground_truth_{name}.csv")
        rows = np.arange(x["ms"].size)
        print(f"{name}: no ordered model has a worst error below {100 * least_worst_error(x, rows):.1f}%")
        largest = np.lexsort((x["b"],))[-1]
        if name == "multi":
            rest = rows[rows != largest]
            print(f"  without the step of micro-batch {x['b'][largest]:.0f}: {100 * least_worst_error(x, rest):.1f}%")


if __name__ == "__main__":
    main()
