"""Writes Megatron's `torch` checkpoint of a llama or qwen2 model: write_megatron.py HF_DIR SAVE "TP PP VPP"

Follows the order of Megatron-LM: query groups side by side, gates and ups halved on each rank, layers of virtual
stages dealt out in turn.
"""
import argparse
import json
import os
import sys

import torch
from safetensors.torch import load_file

config = json.load(open(sys.argv[1] + "/config.json"))
hf = load_file(sys.argv[1] + "/model.safetensors")
tp, pp, vpp = map(int, sys.argv[3].split())
layers, heads = config["num_hidden_layers"], config["num_attention_heads"]
groups = config.get("num_key_value_heads") or heads
hidden = config["hidden_size"]
width = config.get("head_dim") or hidden // heads
tied = "lm_head.weight" not in hf
if layers % (pp * vpp):
    vpp = 1
per_chunk = layers // (pp * vpp)
vocab = config["vocab_size"]
rows = -(-vocab // (8 * tp)) * 8 * tp


def pad(t):
    return torch.cat([t, torch.full((rows - vocab, t.shape[1]), 7.0, dtype=t.dtype)])


def qkv(at, kind):
    q, k, v = (hf[f"{at}self_attn.{p}_proj.{kind}"].reshape(groups, -1, width, hidden if kind == "weight" else 1) for p in "qkv")
    fused = torch.cat([q, k, v], dim=1).reshape((heads + 2 * groups) * width, -1)
    return fused if kind == "weight" else fused.reshape(-1)


def cut(t, rank, axis):
    return t.chunk(tp, dim=axis)[rank].clone()


def layer(n, rank):
    at = f"model.layers.{n}."
    out = {
        "self_attention.linear_qkv.layer_norm_weight": hf[at + "input_layernorm.weight"],
        "self_attention.linear_qkv.weight": cut(qkv(at, "weight"), rank, 0),
        "self_attention.linear_qkv._extra_state": None,
        "self_attention.linear_proj.weight": cut(hf[at + "self_attn.o_proj.weight"], rank, 1),
        "mlp.linear_fc1.layer_norm_weight": hf[at + "post_attention_layernorm.weight"],
        "mlp.linear_fc1.weight": torch.cat([cut(hf[at + f"mlp.{p}_proj.weight"], rank, 0) for p in ("gate", "up")]),
        "mlp.linear_fc2.weight": cut(hf[at + "mlp.down_proj.weight"], rank, 1),
    }
    if at + "self_attn.q_proj.bias" in hf:
        out["self_attention.linear_qkv.bias"] = cut(qkv(at, "bias"), rank, 0)
    return out


args = argparse.Namespace(
    num_layers=layers, hidden_size=hidden, num_attention_heads=heads, group_query_attention=groups != heads,
    num_query_groups=groups if groups != heads else 1, kv_channels=width, ffn_hidden_size=config["intermediate_size"],
    seq_length=config["max_position_embeddings"], max_position_embeddings=config["max_position_embeddings"],
    vocab_size=vocab, padded_vocab_size=rows, swiglu=True, normalization="RMSNorm",
    norm_epsilon=config["rms_norm_eps"], position_embedding_type="rope",
    rotary_base=config.get("rope_theta") or config.get("rope_parameters", {}).get("rope_theta", 10000),
    untie_embeddings_and_output_weights=not tied, add_bias_linear=False, num_experts=None,
    tensor_model_parallel_size=tp, pipeline_model_parallel_size=pp, consumed_train_samples=24, init_method_std=0.02,
)
place = sys.argv[2] + "/iter_0000003"
for rank in range(tp):
    for stage in range(pp):
        state = {"args": args, "checkpoint_version": 3.0, "iteration": 3, "opt_param_scheduler": None}
        for chunk in range(vpp):
            model = {}
            first, last = chunk == 0 and stage == 0, chunk == vpp - 1 and stage == pp - 1
            if first:
                model["embedding.word_embeddings.weight"] = cut(pad(hf["model.embed_tokens.weight"]), rank, 0)
            for k in range(per_chunk):
                for name, t in layer((chunk * pp + stage) * per_chunk + k, rank).items():
                    model[f"decoder.layers.{k}.{name}"] = t
            if last:
                model["decoder.final_layernorm.weight"] = hf["model.norm.weight"]
                if not tied:
                    model["output_layer.weight"] = cut(pad(hf["lm_head.weight"]), rank, 0)
                elif not first:
                    model["output_layer.weight"] = cut(pad(hf["model.embed_tokens.weight"]), rank, 0)
            state["model" if vpp == 1 else f"model{chunk}"] = model
        name = f"mp_rank_{rank:02d}" + (f"_{stage:03d}" if pp > 1 else "")
        os.makedirs(f"{place}/{name}")
        torch.save(state, f"{place}/{name}/model_optim_rng.pt")
open(sys.argv[2] + "/latest_checkpointed_iteration.txt", "w").write("3")
