"""Reads a distributed checkpoint with PyTorch and tells what is in it: read_dcp.py DIR JSON"""
import hashlib
import io
import json
import sys

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint import FileSystemReader
from torch.distributed.checkpoint.metadata import TensorStorageMetadata

metadata = FileSystemReader(sys.argv[1]).read_metadata()
state, objects = {}, 0
for name, entry in metadata.state_dict_metadata.items():
    if isinstance(entry, TensorStorageMetadata):
        state[name] = torch.empty(entry.size, dtype=entry.properties.dtype)
    else:
        state[name] = None
        objects += 1
dcp.load(state, checkpoint_id=sys.argv[1])
tensors = {}
for name, t in state.items():
    if isinstance(t, list):
        assert len(t) == 1 and t[0].dtype == torch.uint8 and t[0].numel() == 0, name
        continue
    data = t.reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""
    tensors[name] = {"shape": list(t.shape), "sha256": hashlib.sha256(data).hexdigest()}
with torch.serialization.safe_globals([__import__("argparse").Namespace]):
    common = torch.load(sys.argv[1] + "/common.pt", weights_only=True)
groups = common["optimizer"]["optimizer"]["param_groups"]
found = {
    "iteration": common["iteration"],
    "num_query_groups": common["args"].num_query_groups,
    "step": groups[0]["step"],
}
assert common["args"].params_dtype == torch.bfloat16
json.dump({"tensors": tensors, "objects": objects, "common": found}, open(sys.argv[2], "w"))
