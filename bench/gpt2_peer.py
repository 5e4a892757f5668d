"""GPT-2 124M as transformers trains it on PyTorch's CPU: gpt2_peer.py f32|bf16 THREADS prints tokens/s of each of 8 steps.

A step: forward, backward, clipping and fused AdamW, 4 sequences of 64, no dropout. bf16 is autocast with f32 weights."""
import sys
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

bf16 = sys.argv[1] == "bf16"
torch.set_num_threads(int(sys.argv[2]))
torch.manual_seed(1)
model = GPT2LMHeadModel(GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
for _ in range(8):
    x = torch.randint(0, 50257, (4, 64))
    began = time.perf_counter()
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        loss = model(x, labels=x).loss
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(x.numel() / (time.perf_counter() - began), flush=True)
