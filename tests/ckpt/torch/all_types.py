"""Tensors of all types that go through our conversions, written and compared by the libraries of others:
all_types.py write HFDIR, all_types.py compare HFDIR DCPDIR HFDIR2"""
import sys

import torch
import torch.distributed.checkpoint as dcp
from safetensors.torch import load_file, save_file
from torch.distributed.checkpoint import FileSystemReader

KINDS = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int32, torch.int64, torch.uint8,
         torch.uint16, torch.int16, torch.uint32, torch.uint64, torch.int8, torch.bool, torch.float8_e4m3fn,
         torch.float8_e5m2]

if sys.argv[1] == "write":
    torch.manual_seed(1)
    tensors = {str(kind): torch.randint(0, 100, (4, 3)).to(kind) for kind in KINDS}
    save_file(tensors, sys.argv[2] + "/model.safetensors", metadata={"format": "pt"})
else:
    expected = load_file(sys.argv[2] + "/model.safetensors")
    assert len(expected) == len(KINDS)
    entries = FileSystemReader(sys.argv[3]).read_metadata().state_dict_metadata
    state = {name: torch.empty(entries[name].size, dtype=entries[name].properties.dtype) for name in expected}
    dcp.load(state, checkpoint_id=sys.argv[3])
    back = load_file(sys.argv[4] + "/model.safetensors")
    for name, t in expected.items():
        for other in (state[name], back[name]):
            assert other.dtype == t.dtype, (name, other.dtype)
            assert other.shape == t.shape and torch.equal(other.view(torch.uint8), t.view(torch.uint8)), name
