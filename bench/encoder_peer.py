"""BERT-large or T5-large as transformers trains it with torch.compile: encoder_peer.py bert|t5 BATCH STEPS [small] [layers]
[after FILE].

A step: forward, backward, clipping and fused AdamW in bf16 autocast with f32 weights, no dropout. Sequences are of 512,
T5's decoder has 128. The last line has the median time of a step, without the first three. It also has the peak of
PyTorch's memory. `small` makes both models tiny and runs them on the CPU, to try the program. `layers` compiles each
layer separately, if the whole model takes too long to compile. `after FILE`: when it is compiled and warm, the program
frees its activations. It takes the timed steps once FILE exists. So two peers compile at the same time, and each is
timed without the other."""
import os
import statistics
import sys
import time

import torch
from transformers import BertConfig, BertForMaskedLM, T5Config, T5ForConditionalGeneration

kind, batch, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
small = "small" in sys.argv[4:]
signal = sys.argv[sys.argv.index("after") + 1] if "after" in sys.argv else None
warm = 3
device = "cpu" if small else "cuda"
layers, width, heads, inner, vocab = (2, 64, 2, 128, 512) if small else (24, 1024, 16, 4096, 30592)
torch.manual_seed(1)


def make_bert():
    config = BertConfig(
        vocab_size=vocab, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads,
        intermediate_size=inner, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    config._attn_implementation = "sdpa"
    return BertForMaskedLM(config)


# v1.1: gated, 64 to a head, inner width 2816, a head of its own.
def make_t5():
    config = T5Config(
        vocab_size=vocab, d_model=width, d_kv=width // heads, d_ff=inner if small else 2816, num_layers=layers,
        num_heads=heads, dropout_rate=0.0, feed_forward_proj="gated-gelu", tie_word_embeddings=False, use_cache=False,
        decoder_start_token_id=0, pad_token_id=0)
    if T5ForConditionalGeneration._supports_sdpa:
        config._attn_implementation = "sdpa"
    return T5ForConditionalGeneration(config)


model = {"bert": make_bert, "t5": make_t5}[kind]().to(device).train()
print(f"{kind}: {sum(p.numel() for p in model.parameters())} parameters", flush=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
parts = [m for m in model.modules() if type(m).__name__ in ("BertLayer", "T5Block")] if "layers" in sys.argv else []
for part in [] if small else parts:
    part.compile()
run = model if small or parts else torch.compile(model)
# All keys of a sequence are real in these samples, so neither model gets a mask.
x = torch.randint(0, vocab, (batch, 512), device=device)
labels = torch.randint(0, vocab, (batch, 512 if kind == "bert" else 128), device=device)
if kind == "bert":
    labels[torch.rand(labels.shape, device=device) > 0.15] = -100


def wait_for(path):
    print("warm", flush=True)
    if not small:
        torch.cuda.empty_cache()
    while not os.path.exists(path):
        time.sleep(0.05)


times = []
for step in range(steps):
    if step == warm and signal:
        wait_for(signal)
    if not small:
        torch.cuda.synchronize()
    began = time.perf_counter()
    with torch.autocast(device, torch.bfloat16):
        loss = run(input_ids=x, labels=labels).loss
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    value = loss.item()
    times.append(time.perf_counter() - began)
    print(f"{1e3 * times[-1]:.2f} ms, loss {value:.4f}", flush=True)
middle = statistics.median(times[warm:])
held = 0 if small else torch.cuda.max_memory_reserved() / 2**30
print(f"{kind}: {1e3 * middle:.2f} ms a step, {x.numel() / middle:.0f} encoder tokens/s, {held:.1f} GiB")
