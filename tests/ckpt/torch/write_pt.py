"""Writes a torch.save file, and what is in it: write_pt.py FILE JSON"""
import argparse
import collections
import hashlib
import json
import pathlib
import signal
import sys

import numpy
import torch

torch.manual_seed(1)
base = torch.randn(4, 6)
tensors = collections.OrderedDict(
    f32=torch.randn(3, 5),
    bf16=torch.randn(7).bfloat16(),
    f16=torch.randn(2, 2).half(),
    f64=torch.randn(3).double(),
    i32=torch.arange(5, dtype=torch.int32),
    i64=torch.arange(5),
    u8=torch.arange(5, dtype=torch.uint8),
    u16=torch.arange(5).to(torch.uint16),
    boolean=torch.tensor([True]),
    f8=torch.randn(4).to(torch.float8_e4m3fn),
    view=base[1:3, 2:5],
    turned=base.t(),
    parameter=torch.nn.Parameter(torch.randn(2)),
    scalar=torch.tensor(4.0),
    empty=torch.zeros(0),
    dims12=torch.randn([2] * 12),
    tagged=torch.randn(3),
    tagged_parameter=torch.nn.Parameter(torch.randn(3)),
)
tensors["tagged"].partition_dim = tensors["tagged_parameter"].partition_dim = 0  # as Megatron-LM marks main values
module = torch.nn.Linear(2, 2)  # its state dict is an OrderedDict with an attribute
state = {
    "args": argparse.Namespace(num_layers=3, path=pathlib.PosixPath("/x"), signal=signal.SIGTERM, dtype=torch.bfloat16),
    "tensors": tensors,
    "module": module.state_dict(),
    "rng": [numpy.random.get_state(), torch.get_rng_state(), 2**70, -(2**40)],
    "size": torch.Size([1, 2]),
    "device": torch.device("cpu"),
}
torch.save(state, sys.argv[1])
expected = {}
for name, t in tensors.items():
    t = t.detach()
    data = t.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""
    expected[name] = {"type": str(t.dtype).split(".")[1], "sha256": hashlib.sha256(data).hexdigest()}
json.dump(expected, open(sys.argv[2], "w"))
