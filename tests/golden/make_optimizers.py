"""Ten steps of the optimizers in float64, written from their definitions: tests/golden/optimizers.json.

    python tests/golden/make_optimizers.py > tests/golden/optimizers.json

Weights and gradients are chirps (full rank), which the test makes anew. Megatron-LM's defaults but for what a case names. Parameters
are told as [name, shape, dims that number a matrix's rows]; 0 rows: it is a vector, updated by AdamW where Muon is
chosen. With a dtype of bf16 a stored state is rounded to the nearest bf16, ties to even; the step's own update takes it
as it was before.
"""
import json
import math

import numpy as np

LR, DECAY, STEPS = 0.01, 0.1, 10
PARAMETERS = [["q", [2, 2, 4, 10], 3], ["k", [2, 4, 10], 2], ["proj", [10, 2, 2, 4], 1], ["fc1", [2, 8, 10], 2],
              ["norm", [10], 0]]
POLYNOMIALS = {
    "simple": [(3.4445, -4.7750, 2.0315)],
    "quintic": [(4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (3.7418, -5.5913, 2.3037),
                (2.8769, -3.1427, 1.2046), (2.8366, -3.0525, 1.2012)],
}
CASES = {
    "lion": {"optimizer": "lion"},
    "muon": {"optimizer": "muon"},
    "muon_nesterov": {"optimizer": "muon", "muon-nesterov": "true", "muon-momentum": "0.95",
                      "muon-scale-mode": "unit_rms_norm", "muon-extra-scale-factor": "0.2"},
    "muon_as_torch": {"optimizer": "muon", "muon-nesterov": "true", "muon-momentum": "0.95",
                      "muon-scale-mode": "shape_scaling", "muon-coefficient-type": "simple"},
    "adam_bf16": {"optimizer": "adam", "exp-avg-dtype": "bf16", "exp-avg-sq-dtype": "bf16"},
    "sgd_bf16": {"optimizer": "sgd", "exp-avg-dtype": "bf16"},
    "lion_bf16": {"optimizer": "lion", "exp-avg-dtype": "bf16"},
    "muon_bf16": {"optimizer": "muon", "muon-nesterov": "true", "exp-avg-dtype": "bf16", "exp-avg-sq-dtype": "bf16"},
}


def sines(seed, shape):
    n = math.prod(shape)
    return np.float32([math.sin(0.7 * i * i + 78.233 * seed) for i in range(n)]).astype(np.float64).reshape(shape)


def bf16(x):
    bits = np.asarray(x, np.float32).view(np.uint32)
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & np.uint32(0xffff0000)
    return bits.view(np.float32).astype(np.float64)


def kept(case, flag, x):
    return bf16(x) if case.get(flag) == "bf16" else x


def orthogonal(m, polynomials):
    x = m / max(np.sqrt((m * m).sum()), 1e-7)
    for s in range(5):
        a, b, c = polynomials[s % len(polynomials)]
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x


def scale(rows, cols, mode):
    return math.sqrt({"spectral": max(rows, cols), "unit_rms_norm": rows / cols, "shape_scaling": max(1, rows / cols)}[mode])


def step(case, w, g, state, t, row_dims):
    decay = LR * DECAY if row_dims else 0
    if case["optimizer"] == "lion":
        m = state.setdefault("m", np.zeros_like(w))
        u = np.sign(0.95 * m + 0.05 * g)
        state["m"] = kept(case, "exp-avg-dtype", 0.98 * m + 0.02 * g)
        return w * (1 - decay) - LR * u
    if case["optimizer"] == "sgd":
        m = 0.9 * state.setdefault("m", np.zeros_like(w)) + g + (DECAY if row_dims else 0) * w
        state["m"] = kept(case, "exp-avg-dtype", m)
        return w - LR * m
    if case["optimizer"] == "adam" or not row_dims:
        m = 0.9 * state.setdefault("m", np.zeros_like(w)) + 0.1 * g
        v = 0.999 * state.setdefault("v", np.zeros_like(w)) + 0.001 * g * g
        state["m"], state["v"] = kept(case, "exp-avg-dtype", m), kept(case, "exp-avg-sq-dtype", v)
        return w * (1 - decay) - LR / (1 - 0.9**t) * m / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    beta = float(case.get("muon-momentum", 0.9))
    m = beta * state.setdefault("m", np.zeros_like(w)) + (1 - beta) * g
    state["m"] = kept(case, "exp-avg-dtype", m)
    u = (1 - beta) * g + beta * m if "muon-nesterov" in case else m
    matrix = u.reshape(math.prod(w.shape[:row_dims]), -1)
    size = scale(*matrix.shape, case.get("muon-scale-mode", "spectral")) * float(case.get("muon-extra-scale-factor", 1))
    u = orthogonal(matrix, POLYNOMIALS[case.get("muon-coefficient-type", "quintic")]).reshape(w.shape)
    return w * (1 - decay) - LR * size * u


def run(case):
    out = {}
    for number, (name, shape, row_dims) in enumerate(PARAMETERS):
        w, state, after = sines(number, shape), {}, {}
        for t in range(1, STEPS + 1):
            w = step(case, w, sines(100 * t + number, shape), state, t, row_dims)
            after[t] = w
        out[name] = {"first": np.round(after[1].ravel(), 10).tolist(), "last": np.round(w.ravel(), 10).tolist()}
    return out


if __name__ == "__main__":
    print(json.dumps({"lr": LR, "weight_decay": DECAY, "steps": STEPS, "parameters": PARAMETERS,
                      "cases": [{"name": n, "flags": c, "after": run(c)} for n, c in CASES.items()]}))
