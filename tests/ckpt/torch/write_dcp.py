"""Writes a distributed checkpoint with PyTorch, and what is in it: write_dcp.py DIR"""
import hashlib
import json
import sys

import torch
import torch.distributed.checkpoint as dcp

torch.manual_seed(1)
state = {
    "decoder.layers.mlp.linear_fc1.weight": torch.randn(3, 8, 5).bfloat16(),
    "embedding.word_embeddings.weight": torch.randn(7, 5),
    "scalar": torch.tensor(2.5),
    "half": torch.randn(4).half(),
    "double": torch.randn(4, 2).double(),
    "bytes": torch.arange(9, dtype=torch.uint8),
    "long": torch.arange(9),
    "strided": torch.randn(6, 4).t(),
    "empty": torch.zeros(0, 3),
    "flags": torch.tensor([True, False]),
    "complex": torch.randn(2, dtype=torch.complex64),
    **{f"unread.{kind}": torch.zeros(2, dtype=getattr(torch, kind))
       for kind in ("complex32", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2")
       if hasattr(torch, kind)},
    "step": 17,
    "args": {"a": [1, 2, "three"]},
}
dcp.save(state, checkpoint_id=sys.argv[1])
expected = {}
for name, t in state.items():
    if torch.is_tensor(t) and not t.is_complex() and not name.startswith("unread."):
        data = t.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""
        expected[name] = {"shape": list(t.shape), "sha256": hashlib.sha256(data).hexdigest()}
json.dump(expected, open(sys.argv[1] + "/expected.json", "w"))
