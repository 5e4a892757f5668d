"""Writes torch.save files of tensors that are not what is stored: write_bits.py NEGATIVE CONJUGATE"""
import sys

import torch

torch.save({"x": torch._neg_view(torch.ones(3))}, sys.argv[1])
torch.save({"x": torch.ones(3, dtype=torch.complex64).conj()}, sys.argv[2])
