"""A llama or qwen2 model of Hugging Face as Megatron-LM's ranks hold it: query groups side by side, gates and ups
halved on each rank, layers of virtual stages dealt out in turn. The same for whatever has the weights' shapes: moments.
"""
import argparse
import json

import torch
from safetensors.torch import load_file, save_file


class Model:
    def __init__(self, directory, shape):
        self.config = config = json.load(open(directory + "/config.json"))
        self.hf = load_file(directory + "/model.safetensors")
        self.tp, self.pp, self.vpp, *narrow = map(int, shape.split(","))
        if narrow:
            self._narrow(narrow[0])
        self.layers, self.heads = config["num_hidden_layers"], config["num_attention_heads"]
        self.groups = config.get("num_key_value_heads") or self.heads
        self.hidden = config["hidden_size"]
        self.width = config.get("head_dim") or self.hidden // self.heads
        self.tied = "lm_head.weight" not in self.hf
        if self.layers % (self.pp * self.vpp):
            self.vpp = 1
        self.per_chunk = self.layers // (self.pp * self.vpp)
        self.vocab = config["vocab_size"]
        self.rows = -(-self.vocab // (8 * self.tp)) * 8 * self.tp

    def _narrow(self, hidden):
        """To another hidden size, such that parameters have odd sizes; the number of heads and their width stay."""
        config, old = self.config, self.config["hidden_size"]
        config["head_dim"] = config.get("head_dim") or old // config["num_attention_heads"]
        config["hidden_size"] = hidden
        for name, t in self.hf.items():
            if name.endswith(("norm.weight", "o_proj.weight", "down_proj.weight")):
                t = t[:hidden]
            elif not name.endswith(".bias"):
                t = t[:, :hidden]
            self.hf[name] = t.contiguous()

    def args(self, **more):
        config = self.config
        return argparse.Namespace(
            num_layers=self.layers, hidden_size=self.hidden, num_attention_heads=self.heads,
            group_query_attention=self.groups != self.heads,
            num_query_groups=self.groups if self.groups != self.heads else 1, kv_channels=self.width,
            ffn_hidden_size=config["intermediate_size"], seq_length=config["max_position_embeddings"],
            max_position_embeddings=config["max_position_embeddings"], vocab_size=self.vocab,
            padded_vocab_size=self.rows, swiglu=True, normalization="RMSNorm", norm_epsilon=config["rms_norm_eps"],
            position_embedding_type="rope",
            rotary_base=config.get("rope_theta") or config.get("rope_parameters", {}).get("rope_theta", 10000),
            untie_embeddings_and_output_weights=not self.tied, add_bias_linear=False, num_experts=None,
            tensor_model_parallel_size=self.tp, pipeline_model_parallel_size=self.pp, consumed_train_samples=24,
            init_method_std=0.02, **more)

    def _pad(self, t):
        return torch.cat([t, torch.full((self.rows - self.vocab, t.shape[1]), 7.0, dtype=t.dtype)])

    def _qkv(self, hf, at, kind):
        columns = self.hidden if kind == "weight" else 1
        q, k, v = (hf[f"{at}self_attn.{p}_proj.{kind}"].reshape(self.groups, -1, self.width, columns) for p in "qkv")
        fused = torch.cat([q, k, v], dim=1).reshape((self.heads + 2 * self.groups) * self.width, -1)
        return fused if kind == "weight" else fused.reshape(-1)

    def _cut(self, t, rank, axis):
        return t.chunk(self.tp, dim=axis)[rank].clone()

    def _layer(self, hf, n, rank, cut):
        at = f"model.layers.{n}."
        out = {
            "self_attention.linear_proj.weight": cut(hf[at + "self_attn.o_proj.weight"], rank, 1),
            "self_attention.linear_qkv.layer_norm_weight": hf[at + "input_layernorm.weight"].clone(),
            "self_attention.linear_qkv.weight": cut(self._qkv(hf, at, "weight"), rank, 0),
        }
        if at + "self_attn.q_proj.bias" in hf:
            out["self_attention.linear_qkv.bias"] = cut(self._qkv(hf, at, "bias"), rank, 0)
        gate, up = (cut(hf[at + f"mlp.{p}_proj.weight"], rank, 0) for p in ("gate", "up"))
        out["mlp.linear_fc1.layer_norm_weight"] = hf[at + "post_attention_layernorm.weight"].clone()
        out["mlp.linear_fc1.weight"] = torch.cat([gate, up])
        out["mlp.linear_fc2.weight"] = cut(hf[at + "mlp.down_proj.weight"], rank, 1)
        return out

    def chunk(self, hf, rank, stage, chunk):
        """What a rank's module `chunk` holds of the tensors `hf`, by name, in the order of Megatron's modules."""
        model = {}
        first, last = chunk == 0 and stage == 0, chunk == self.vpp - 1 and stage == self.pp - 1
        if first:
            model["embedding.word_embeddings.weight"] = self._cut(self._pad(hf["model.embed_tokens.weight"]), rank, 0)
        for k in range(self.per_chunk):
            for name, t in self._layer(hf, (chunk * self.pp + stage) * self.per_chunk + k, rank, self._cut).items():
                model[f"decoder.layers.{k}.{name}"] = t
        if last:
            model["decoder.final_layernorm.weight"] = hf["model.norm.weight"].clone()
            if not self.tied:
                model["output_layer.weight"] = self._cut(self._pad(hf["lm_head.weight"]), rank, 0)
            elif not first:
                model["output_layer.weight"] = self._cut(self._pad(hf["model.embed_tokens.weight"]), rank, 0)
        return model

    def whole(self, hf):
        """The same of all ranks together, with layers stacked."""
        uncut = lambda t, rank, axis: t
        layers = [self._layer(hf, n, 0, uncut) for n in range(self.layers)]
        model = {f"decoder.layers.{name}": torch.stack([l[name] for l in layers]) for name in layers[0]}
        model["embedding.word_embeddings.weight"] = self._pad(hf["model.embed_tokens.weight"])
        model["decoder.final_layernorm.weight"] = hf["model.norm.weight"].clone()
        if not self.tied:
            model["output_layer.weight"] = self._pad(hf["lm_head.weight"])
        return model


def make_state(model, place):
    """Main values and moments, all different, as Hugging Face directories PLACE/{param,exp_avg,exp_avg_sq}."""
    import os

    torch.manual_seed(3)
    state = {
        "param": {n: t.float() + torch.randn(t.shape) * 1e-3 for n, t in model.hf.items()},
        "exp_avg": {n: torch.randn(t.shape) for n, t in model.hf.items()},
        "exp_avg_sq": {n: torch.rand(t.shape) for n, t in model.hf.items()},
    }
    for kind, tensors in state.items():
        os.makedirs(f"{place}/{kind}")
        save_file(tensors, f"{place}/{kind}/model.safetensors")
        json.dump(model.config, open(f"{place}/{kind}/config.json", "w"))
    return state


def is_shared(model, name, stage, chunk):
    """Embeddings that Megatron keeps in a bucket of their own: those that two pipeline stages share."""
    if not model.tied or model.pp == 1:
        return False
    first, last = stage == 0 and chunk == 0, stage == model.pp - 1 and chunk == model.vpp - 1
    return (first and name.endswith("word_embeddings.weight")) or (last and name == "output_layer.weight")


def buckets_of(params, shared, bucket_size):
    """[(parameters as (name, start, end), unpadded size)] of a buffer. `params`: (name, elements) in module order."""
    buckets, held, at = [], [], 0

    def close(size):
        nonlocal held, at
        buckets.append((held, size))
        held, at = [], 0

    for name, elements in reversed(params):
        at = -(-at // 64) * 64
        if shared(name) and held:
            close(at)
        held.append((name, at, at + elements))
        at += elements
        if shared(name) or (bucket_size and at >= bucket_size):
            close(at)
    if held:
        close(at)
    return buckets


def flat(bucket, tensors):
    """A bucket's numbers; what lies between parameters means nothing."""
    params, size = bucket
    out = torch.full((size,), float("nan"))
    for name, start, end in params:
        out[start:end] = tensors[name].reshape(-1)
    return out
