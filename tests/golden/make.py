"""Makes the golden cases of this folder: make.py [CASE ...] (none named: all).

A case is a model of Hugging Face transformers with random weights (config.json, model.safetensors). PyTorch's results in
float32 on the CPU are in golden.safetensors. `golden-check DIR` compares our model with them. They are
  batch0 ... batch9   input_ids and targets, i32 [batch, seq]; targets are shifted: targets[t] follows input_ids[t]
  logits, loss        of batch0, with the first weights
  grad.NAME           of that loss, for every parameter
  train.losses        of ten AdamW steps, one a batch, and train.grad_norms before clipping
"""
import json
import pathlib
import sys

import torch
import transformers as hf
from safetensors.torch import save_file

BATCH, SEQ, STEPS = 2, 20, 10
SIZES = dict(hidden_size=16, num_attention_heads=4, num_hidden_layers=2, vocab_size=44)
LLAMA = dict(SIZES, num_key_value_heads=2, intermediate_size=28, max_position_embeddings=512, rms_norm_eps=1e-5,
             tie_word_embeddings=False)


def rope(theta, **more):
    return dict(rope_parameters=dict(dict(rope_type="default", rope_theta=theta), **more))


# Of 4 frequencies with this base and scaling one is kept, one is between, two are divided by the factor.
LLAMA31_ROPE = rope(500000.0, rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                    original_max_position_embeddings=256)
# Sequences of 20 tokens are longer than these lengths.
YARN_ROPE = rope(10000.0, rope_type="yarn", factor=4.0, original_max_position_embeddings=8, beta_fast=3.0,
                 beta_slow=0.5)
YARN_MSCALES_ROPE = rope(10000.0, rope_type="yarn", factor=40.0, original_max_position_embeddings=16, beta_fast=8.0,
                         truncate=False, mscale=0.8, mscale_all_dim=0.6)
LONGROPE = rope(10000.0, rope_type="longrope", original_max_position_embeddings=12, short_factor=[1.0, 1.1, 1.2, 1.3],
                long_factor=[1.0, 1.5, 3.0, 6.0])
DEEPSEEK_YARN = rope(10000.0, rope_type="yarn", factor=40.0, original_max_position_embeddings=16, beta_fast=8.0,
                     mscale=1.0, mscale_all_dim=0.7)
DEEPSEEK = dict(LLAMA, num_key_value_heads=4, kv_lora_rank=8, qk_nope_head_dim=6, qk_rope_head_dim=4,
                num_nextn_predict_layers=0)
DEEPSEEK_EXPERTS = dict(n_routed_experts=8, num_experts_per_tok=4, n_group=4, topk_group=2, moe_intermediate_size=12)
NO_DROPOUT = dict(hidden_dropout=0.0, attention_dropout=0.0)
EXPERTS = dict(num_experts=6, num_experts_per_tok=3, moe_intermediate_size=12, norm_topk_prob=False)
FALCON_ALIBI = dict(NO_DROPOUT, alibi=True, bias=True, parallel_attn=False, multi_query=False)
CASES = {
    "gpt2": hf.GPT2Config(n_embd=16, n_head=4, n_layer=2, n_positions=32, vocab_size=44, resid_pdrop=0.0,
                          embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=43, eos_token_id=43),
    "llama": hf.LlamaConfig(**LLAMA, **rope(10000.0)),
    "llama31": hf.LlamaConfig(**LLAMA, head_dim=8, **LLAMA31_ROPE),
    "llama_yarn": hf.LlamaConfig(**LLAMA, head_dim=8, **YARN_ROPE),
    "llama_yarn_mscales": hf.LlamaConfig(**LLAMA, head_dim=8, **YARN_MSCALES_ROPE),
    "llama_dynamic": hf.LlamaConfig(**dict(LLAMA, max_position_embeddings=12), head_dim=8,
                                    **rope(10000.0, rope_type="dynamic", factor=3.0)),
    "llama_longrope": hf.LlamaConfig(**LLAMA, head_dim=8, **LONGROPE),
    "mistral_swa": hf.MistralConfig(**LLAMA, head_dim=8, sliding_window=6, **rope(10000.0)),
    "qwen2": hf.Qwen2Config(**dict(LLAMA, tie_word_embeddings=True, rms_norm_eps=1e-6), **rope(1e6)),
    "qwen3": hf.Qwen3Config(**LLAMA, head_dim=8, **rope(1e6)),
    "gpt_neox": hf.GPTNeoXConfig(**dict(SIZES, num_attention_heads=2), intermediate_size=28,
                                 max_position_embeddings=512, use_parallel_residual=True,
                                 **rope(10000.0, partial_rotary_factor=0.5), **NO_DROPOUT),
    # 3 heads: the slopes of a number that is no power of two.
    "bloom_alibi": hf.BloomConfig(hidden_size=18, n_head=3, n_layer=2, vocab_size=44, **NO_DROPOUT),
    "falcon": hf.FalconConfig(**SIZES, new_decoder_architecture=True, num_kv_heads=2, parallel_attn=True, bias=False,
                              alibi=False, **NO_DROPOUT),
    "llama_attention_bias": hf.LlamaConfig(**LLAMA, attention_bias=True, **rope(10000.0)),
    "llama_mlp_bias": hf.LlamaConfig(**LLAMA, mlp_bias=True, **rope(10000.0)),
    "qwen3_attention_bias": hf.Qwen3Config(**LLAMA, head_dim=16, attention_bias=True, **rope(1e6)),
    # A quarter of heads of 12 are 3: four dims turn, by the exponents of three.
    "gpt_neox_odd": hf.GPTNeoXConfig(**dict(SIZES, hidden_size=24, num_attention_heads=2), intermediate_size=28,
                                     max_position_embeddings=512, **rope(10000.0, partial_rotary_factor=0.25),
                                     **NO_DROPOUT),
    "falcon_alibi": hf.FalconConfig(**SIZES, ffn_hidden_size=28, **FALCON_ALIBI),
    # Slopes, and positions above 256, that bf16 rounds.
    "falcon_alibi_32_heads": hf.FalconConfig(**dict(SIZES, hidden_size=64, num_attention_heads=32,
                                                    num_hidden_layers=1), ffn_hidden_size=16,
                                             **dict(FALCON_ALIBI, multi_query=True)),
    "falcon_alibi_long": hf.FalconConfig(**dict(SIZES, hidden_size=24, num_attention_heads=12, num_hidden_layers=1),
                                         ffn_hidden_size=28, **FALCON_ALIBI),
    # The root of 18, which scales the embedding, is none that bf16 has. A token of padding would have no gradient.
    "gemma": hf.GemmaConfig(**dict(LLAMA, hidden_size=18, num_key_value_heads=1, head_dim=8, tie_word_embeddings=True),
                            pad_token_id=None, **rope(10000.0)),
    # At a width of 16 PyTorch's own bf16 is 2% off in the gradient's norm.
    "olmo2": hf.Olmo2Config(**dict(LLAMA, hidden_size=24), pad_token_id=None, eos_token_id=2, **rope(500000.0)),
    "mixtral": hf.MixtralConfig(**dict(LLAMA, intermediate_size=20), num_local_experts=4, num_experts_per_tok=2,
                                **rope(1e6)),
    "qwen2_moe": hf.Qwen2MoeConfig(**LLAMA, **EXPERTS, shared_expert_intermediate_size=20, mlp_only_layers=[0],
                                   **rope(1e6)),
    "qwen3_moe": hf.Qwen3MoeConfig(**LLAMA, **dict(EXPERTS, norm_topk_prob=True), head_dim=8, **rope(1e6)),
    "olmoe": hf.OlmoeConfig(**dict(LLAMA, intermediate_size=12), num_experts=6, num_experts_per_tok=3,
                            pad_token_id=None, eos_token_id=2, **rope(10000.0)),
    # The two inner norms have an epsilon of their own. Values are wider than keys in one, narrower in the other.
    "deepseek_v3_dense": hf.DeepseekV3Config(**DEEPSEEK, first_k_dense_replace=2, q_lora_rank=10, v_head_dim=5,
                                             **DEEPSEEK_YARN),
    "deepseek_v2_dense": hf.DeepseekV2Config(**DEEPSEEK, first_k_dense_replace=2, q_lora_rank=None, v_head_dim=12,
                                             **rope(10000.0)),
    "deepseek_v3": hf.DeepseekV3Config(**DEEPSEEK, **DEEPSEEK_EXPERTS, first_k_dense_replace=1, q_lora_rank=10,
                                       v_head_dim=5, n_shared_experts=1, **DEEPSEEK_YARN),
    "deepseek_v2": hf.DeepseekV2Config(**DEEPSEEK, **DEEPSEEK_EXPERTS, first_k_dense_replace=1, q_lora_rank=10,
                                       v_head_dim=5, n_shared_experts=2, topk_method="group_limited_greedy",
                                       routed_scaling_factor=1.5, **DEEPSEEK_YARN),
}
# Draws of which bf16's roundings change no choice of experts.
MORE_SEED = dict(deepseek_v3=1, deepseek_v2=1)


def is_norm(name):
    return any(part in name.lower() for part in ("norm", ".ln_", "ln_f"))


def random_weights(model, generator):
    """No parameter keeps a value that hides a mistake: no zero bias, no norm weight of one. Matrices are as large as attention needs
    to be uneven, and no larger: sharp attention makes much of the roundings of bf16."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            if p.dim() > 1:
                p.copy_(0.15 * noise)
            elif is_norm(name) and name.endswith("weight"):
                p.copy_(1 + 0.1 * noise)
            else:
                p.copy_(0.1 * noise)
        for name, b in model.named_buffers():
            if name.endswith("e_score_correction_bias"):
                b.copy_(0.1 * torch.randn(b.shape, generator=generator))


def random_batches(vocab_size, shape, generator):
    draw = lambda: torch.randint(0, vocab_size, shape, generator=generator)
    return [dict(input_ids=draw(), targets=draw()) for _ in range(STEPS)]


def forward(model, batch):
    logits = model(input_ids=batch["input_ids"], use_cache=False).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch["targets"].flatten()), logits


def first_step(model, batch, forward=forward):
    loss, logits = forward(model, batch)
    model.zero_grad()
    loss.backward()
    found = {"grad." + name: p.grad.clone() for name, p in model.named_parameters()}
    return dict(found, logits=logits.detach().contiguous(), loss=loss.detach().reshape(1))


def train(model, batches, forward=forward):
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [dict(params=matrices, weight_decay=0.1), dict(params=vectors, weight_decay=0.0)]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), eps=1e-8)
    losses, norms = [], []
    for batch in batches:
        model.zero_grad()
        loss, _ = forward(model, batch)
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).detach())
        optimizer.step()
        losses.append(loss.detach())
    return {"train.losses": torch.stack(losses), "train.grad_norms": torch.stack(norms)}


def make(name, config, folder):
    # Falcon's eager attention adds ALiBi twice, in the mask and beside it; the default one adds it once.
    config._attn_implementation = "sdpa" if name.startswith("falcon_alibi") else "eager"
    generator = torch.Generator().manual_seed(1 + sum(name.encode()) + MORE_SEED.get(name, 0))
    model = hf.AutoModelForCausalLM.from_config(config).float().eval()
    random_weights(model, generator)
    batches = random_batches(config.vocab_size, (1, 300) if name.endswith("_long") else (BATCH, SEQ), generator)
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    write(name, folder, model, batches)


def write(name, folder, model, batches, forward=forward):
    tensors = first_step(model, batches[0], forward)
    for i, batch in enumerate(batches):
        tensors.update({f"batch{i}.{key}": ids.to(torch.int32) for key, ids in batch.items()})
    tensors.update(train(model, batches, forward))
    save_file(tensors, folder / "golden.safetensors")
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(f"{name:12} {size / 1024:6.1f} KiB  loss {float(tensors['loss']):.4f}"
          f"  after ten steps {float(tensors['train.losses'][-1]):.4f}")
    assert size <= 150 * 1024, f"{name} is too large to keep in the tree"


def settle():
    torch.set_num_threads(1)  # sums in one order: the same bytes on any number of cores
    torch.use_deterministic_algorithms(True)
    hf.logging.set_verbosity_error()
    hf.logging.disable_progress_bar()


def main():
    settle()
    here = pathlib.Path(__file__).parent
    for name in sys.argv[1:] or CASES:
        make(name, CASES[name], here / name)


if __name__ == "__main__":
    main()
