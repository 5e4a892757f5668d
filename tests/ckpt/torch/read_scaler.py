"""read_scaler.py COMMON_PT: prints the optimizer's grad_scaler, loaded as Megatron-LM loads it."""
import argparse
import sys

import torch

torch.serialization.add_safe_globals([argparse.Namespace])
scaler = torch.load(sys.argv[1], weights_only=True)["optimizer"]["grad_scaler"]
assert scaler["scale"].dtype == torch.float32 and scaler["scale"].shape == (1,)
print(scaler["scale"].item(), scaler["growth_tracker"], scaler["hysteresis_tracker"])
