"""Loads pairs of models with transformers and compares their logits: same_logits.py ORIGINAL OURS ..."""
import sys

import torch
from transformers import AutoModelForCausalLM

torch.manual_seed(1)
for original, ours in zip(sys.argv[1::2], sys.argv[2::2]):
    a, loading = AutoModelForCausalLM.from_pretrained(original, torch_dtype=torch.float32), None
    b, loading = AutoModelForCausalLM.from_pretrained(ours, torch_dtype=torch.float32, output_loading_info=True)
    assert not loading["missing_keys"] and not loading["unexpected_keys"], (ours, loading)
    tokens = torch.randint(0, a.config.vocab_size, (2, 24))
    with torch.no_grad():
        difference = (a.eval()(tokens).logits - b.eval()(tokens).logits).abs().max().item()
    print(original, difference)
    assert difference <= 1e-5, (ours, difference)
