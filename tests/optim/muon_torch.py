"""Ten steps of torch.optim.Muon on the matrices of tests/golden/optimizers.json: weights as JSON, by name. Its iteration is in bf16."""
import importlib.util
import json
import math
import pathlib
import sys

import torch

torch.set_num_threads(1)
path = pathlib.Path(__file__).parent.parent / "golden/make_optimizers.py"
spec = importlib.util.spec_from_file_location("steps", path)
steps = importlib.util.module_from_spec(spec)
spec.loader.exec_module(steps)
out = {}
for number, (name, shape, row_dims) in enumerate(steps.PARAMETERS):
    if not row_dims:
        continue
    matrix = [math.prod(shape[:row_dims]), math.prod(shape[row_dims:])]
    w = torch.nn.Parameter(torch.tensor(steps.sines(number, matrix), dtype=torch.float32))
    optimizer = torch.optim.Muon([w], lr=steps.LR, weight_decay=steps.DECAY, momentum=0.95, nesterov=True,
                                 adjust_lr_fn="original")
    for t in range(1, steps.STEPS + 1):
        w.grad = torch.tensor(steps.sines(100 * t + number, matrix), dtype=torch.float32)
        optimizer.step()
    out[name] = w.detach().double().flatten().tolist()
json.dump(out, open(sys.argv[1], "w"))
