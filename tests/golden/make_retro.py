"""Makes the golden case of RETRO in this folder: make_retro.py.

The model is written down here from the paper (Borgeaud et al. 2022) and docs/retro.md, in JAX and float64. Its form is that of
Megatron Core's cases (tests/golden/README.md): config.json has flags, weights.safetensors the parameters under Megatron's names.
golden.safetensors has
  batch0 ... batch9   text i32 [batch, seq + 1], neighbor_tokens i32 [batch, chunks, neighbours, tokens]
  logits, per_token_loss, lm_loss, loss   of batch0
  grad.NAME           of that loss, for every parameter
  train.losses        of ten AdamW steps, one a batch, and train.grad_norms before clipping
  after10.sumsq       sums of squares after them, in the order of config.json's after10_sumsq_order
"""
import json
import math
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import save_file

jax.config.update("jax_enable_x64", True)

LAYERS, H, HEADS, F, V, SEQ, M, K, R, BATCH, STEPS = 6, 8, 2, 12, 24, 12, 4, 2, 8, 2, 10
ENCODER = "decoder.layers.5.cross_attention.encoder.layers.0."
NAME = "retro"


def shapes():
    """Of all parameters by name; linear layers are [out, in]."""
    out = {"embedding.word_embeddings.weight": (V, H), "embedding.position_embeddings.weight": (SEQ, H)}

    def linear(name, rows, columns):
        out[name + ".weight"], out[name + ".bias"] = (rows, columns), (rows,)

    def norm(name, join="."):
        out[name + join + "weight"], out[name + join + "bias"] = (H,), (H,)

    def layer(p, encoder=False):
        norm(p + "self_attention.linear_qkv", ".layer_norm_")
        linear(p + "self_attention.linear_qkv", 3 * H, H), linear(p + "self_attention.linear_proj", H, H)
        norm(p + "pre_mlp_layernorm.norm") if encoder else norm(p + "mlp.linear_fc1", ".layer_norm_")
        linear(p + "mlp.linear_fc1", F, H), linear(p + "mlp.linear_fc2", H, F)

    def cross(p):
        norm(p + "pre_cross_attn_layernorm")
        for name, rows in (("linear_q", H), ("linear_kv", 2 * H), ("linear_proj", H)):
            linear(p + "cross_attention.attn." + name, rows, H)

    for i in range(LAYERS):
        layer(f"decoder.layers.{i}.")
    cross("decoder.layers.5."), layer(ENCODER, True), cross(ENCODER), norm("decoder.final_layernorm")
    return out


def norm(w, name, x, join="."):
    x = x - x.mean(-1, keepdims=True)
    x = x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    return x * w[name + join + "weight"] + w[name + join + "bias"]


def linear(w, name, x):
    return x @ w[name + ".weight"].T + w[name + ".bias"]


def gelu(x):
    return 0.5 * x * (1 + jnp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def softmax_attention(q, k, v, causal):
    """q [s,n,d], k and v [t,n,d]"""
    scores = jnp.einsum("snd,tnd->nst", q, k) / math.sqrt(H // HEADS)
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[1:])) > 0, scores, -jnp.inf)
    return jnp.einsum("nst,tnd->snd", jax.nn.softmax(scores, -1), v).reshape(q.shape[0], H)


def self_attention(w, p, x, causal):
    normed = norm(w, p + "self_attention.linear_qkv", x, ".layer_norm_")
    qkv = linear(w, p + "self_attention.linear_qkv", normed).reshape(-1, HEADS, 3, H // HEADS)
    return linear(w, p + "self_attention.linear_proj", softmax_attention(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], causal))


def cross_attention(w, p, x, memory):
    p += "cross_attention.attn."
    q = linear(w, p + "linear_q", x).reshape(-1, HEADS, H // HEADS)
    kv = linear(w, p + "linear_kv", memory).reshape(-1, HEADS, 2, H // HEADS)
    return linear(w, p + "linear_proj", softmax_attention(q, kv[:, :, 0], kv[:, :, 1], False))


def mlp(w, p, normed):
    return linear(w, p + "mlp.linear_fc2", gelu(linear(w, p + "mlp.linear_fc1", normed)))


def embed(w, ids):
    return w["embedding.word_embeddings.weight"][ids] + w["embedding.position_embeddings.weight"][: ids.shape[-1]]


def encode(w, neighbor, chunk):
    """A neighbour's ids [R], the normed states of its chunk [M, H] -> [R, H]"""
    z = embed(w, neighbor)
    z = z + self_attention(w, ENCODER, z, False)
    z = norm(w, ENCODER + "pre_cross_attn_layernorm", z)
    z = z + cross_attention(w, ENCODER, z, chunk)
    return z + mlp(w, ENCODER, norm(w, ENCODER + "pre_mlp_layernorm.norm", z))


def sequence_logits(w, ids, neighbors):
    """ids [SEQ], neighbors [chunks, K, R]. Token t sees the neighbours of chunk (t + 1) // M - 1, if there is one."""
    x = embed(w, ids)
    for i in range(LAYERS):
        p = f"decoder.layers.{i}."
        x = x + self_attention(w, p, x, True)
        if i == 5:
            y = norm(w, p + "pre_cross_attn_layernorm", x)
            rows = [jnp.zeros((M - 1, H))]
            for c in range(SEQ // M):
                own = y[c * M:(c + 1) * M]
                memory = jnp.concatenate([encode(w, neighbors[c, k], own) for k in range(K)])
                last = min((c + 2) * M - 1, SEQ)
                rows.append(cross_attention(w, p, y[(c + 1) * M - 1:last], memory))
            x = x + jnp.concatenate(rows)
        x = x + mlp(w, p, norm(w, p + "mlp.linear_fc1", x, ".layer_norm_"))
    return norm(w, "decoder.final_layernorm", x) @ w["embedding.word_embeddings.weight"].T


def loss_of(w, batch):
    logits = jnp.stack([sequence_logits(w, text[:-1], near) for text, near in zip(batch["text"], batch["neighbor_tokens"])])
    each = -jnp.take_along_axis(jax.nn.log_softmax(logits, -1), batch["text"][:, 1:, None], -1)[..., 0]
    return each.mean(), (logits, each)


def main():
    random = np.random.default_rng(31)
    w = {}
    for name, shape in shapes().items():
        one = name.endswith("norm_weight") or name.endswith("norm.weight")
        w[name] = np.float32(random.normal(1.0 if one else 0.0, 0.1 if one else 0.3, shape))
    folder = pathlib.Path(__file__).parent / NAME
    folder.mkdir(exist_ok=True)
    save_file(w, folder / "weights.safetensors")
    batches = [dict(text=random.integers(0, V, (BATCH, SEQ + 1), dtype=np.int32),
                    neighbor_tokens=random.integers(0, V, (BATCH, SEQ // M, K, R), dtype=np.int32)) for _ in range(STEPS)]
    golden = {f"batch{i}.{n}": x for i, b in enumerate(batches) for n, x in b.items()}
    w = {n: jnp.asarray(x, jnp.float64) for n, x in w.items()}
    step = jax.jit(jax.value_and_grad(loss_of, has_aux=True))
    first, second = ({n: jnp.zeros_like(x) for n, x in w.items()} for _ in range(2))
    losses, norms = [], []
    for i, batch in enumerate(batches):
        (loss, (logits, each)), grads = step(w, batch)
        if i == 0:
            golden.update({"logits": logits, "per_token_loss": each, "lm_loss": loss[None], "loss": loss[None]})
            golden.update({"grad." + n: g for n, g in grads.items()})
        size = jnp.sqrt(sum((g * g).sum() for g in grads.values()))
        losses.append(loss), norms.append(size)
        for n, g in grads.items():
            g = g * jnp.minimum(1.0, 1.0 / (size + 1e-6))
            first[n] = 0.9 * first[n] + 0.1 * g
            second[n] = 0.95 * second[n] + 0.05 * g * g
            update = first[n] / (1 - 0.9**(i + 1)) / (jnp.sqrt(second[n] / (1 - 0.95**(i + 1))) + 1e-8)
            w[n] = w[n] - 1e-3 * (update + (0.1 * w[n] if w[n].ndim > 1 else 0))
    golden["train.losses"], golden["train.grad_norms"] = jnp.stack(losses), jnp.stack(norms)
    golden["after10.sumsq"] = jnp.stack([(x * x).sum() for x in w.values()])
    save_file({n: np.ascontiguousarray(x if x.dtype == np.int32 else np.asarray(x, np.float32)) for n, x in golden.items()},
              folder / "golden.safetensors")
    flags = {"--num-layers": LAYERS, "--hidden-size": H, "--num-attention-heads": HEADS, "--ffn-hidden-size": F, "--seq-length": SEQ,
             "--max-position-embeddings": SEQ, "--retro-add-retriever": True, "--retro-num-neighbors": K,
             "--retro-num-retrieved-chunks": R // M, "--retro-chunk-length": M, "--retro-encoder-layers": 1,
             "--padded-vocab-size": V}
    about = {"model": "retro", "flags": flags, "final_layernorm": True, "after10_sumsq_order": list(w),
             "optimizer": "AdamW lr 1e-3 betas 0.9,0.95 eps 1e-8, weight_decay 0.1 on tensors of 2 dims and more"}
    (folder / "config.json").write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
