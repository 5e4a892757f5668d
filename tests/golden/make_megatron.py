"""Makes the golden cases of this folder that Megatron Core computes: make_megatron.py [CASE ...] (none named: all).

A case is a GPT of Megatron Core with random weights, of its local layers, in float32 on one CPU. It has
  config.json         Megatron's flags, the micro-batches of a step, the optimizer, and which layers are mixtures of experts
  model.safetensors   the weights, by the names of Megatron's modules
  golden.safetensors  what it computes:
    batch0 ... batch5   input_ids and targets, i32 [batch, seq]; micro-batches 2k and 2k + 1 make step k
    logits              of batch0
    mtp_loss            of micro-batches 0 and 1 the losses of multi-token prediction, of each depth
    loss                of micro-batches 0 and 1
    grad.NAME           of the mean of these two losses, for every parameter; grad_norm: their 2-norm
    train.losses        of three AdamW steps from the first weights, and train.grad_norms before clipping
    after3.NAME         every vector after them; after3.sumsq.NAME: of every parameter the sum of squares
`golden-check DIR` holds our model against it.
"""
import contextlib
import json
import os
import pathlib
import sys

import torch
from safetensors.torch import save_file

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29531", RANK="0", WORLD_SIZE="1")
torch.cuda.current_device = lambda: torch.device("cpu")  # where some layers put their buffers

from megatron.core import parallel_state  # noqa: E402
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec, get_gpt_mtp_block_spec  # noqa: E402
from megatron.core.models.gpt.gpt_model import GPTModel  # noqa: E402
from megatron.core.tensor_parallel import layers, random  # noqa: E402
from megatron.core.transformer.multi_token_prediction import MTPLossAutoScaler, MTPLossLoggingHelper  # noqa: E402
from megatron.core.transformer.transformer_config import TransformerConfig  # noqa: E402

# A GPU's random states: there is no dropout. A sum over one process is the same tensor, to which biases are added in place.
random.CudaRNGStatesTracker.fork = lambda self, name="": contextlib.nullcontext()
layers.reduce_from_tensor_model_parallel_region = lambda x, group=None: x

BATCH, SEQ, STEPS, MICRO_BATCHES = 2, 20, 3, 2
SIZES = {"num-layers": 2, "hidden-size": 16, "num-attention-heads": 4, "vocab-size": 44}
CASES = {  # Megatron's flags
    "megatron_llama": dict(SIZES, **{
        "ffn-hidden-size": 28, "group-query-attention": True, "num-query-groups": 2, "kv-channels": 6,
        "position-embedding-type": "rope", "rotary-base": 10000, "normalization": "RMSNorm", "norm-epsilon": 1e-5,
        "qk-layernorm": True, "swiglu": True, "disable-bias-linear": True, "untie-embeddings-and-output-weights": True}),
    # With rope, as key biases would have no gradient without: Adam makes whole steps of its rounding.
    "megatron_gpt": dict(SIZES, **{
        "ffn-hidden-size": 64, "position-embedding-type": "rope", "rotary-base": 10000, "normalization": "LayerNorm",
        "norm-epsilon": 1e-5, "no-bias-gelu-fusion": True}),
    "megatron_mtp": dict(SIZES, **{
        "num-layers": 1, "ffn-hidden-size": 28, "position-embedding-type": "rope", "rotary-base": 10000,
        "normalization": "RMSNorm", "norm-epsilon": 1e-5, "swiglu": True, "disable-bias-linear": True,
        "mtp-num-layers": 2, "mtp-loss-scaling-factor": 0.3}),
}
OPTIMIZER = "AdamW lr 1e-3 betas 0.9,0.95 eps 1e-8 weight_decay 0.1 on matrices and 0 on vectors, clip 1.0"


def build(flags):
    gated = flags.get("swiglu", False)
    config = TransformerConfig(
        num_layers=flags["num-layers"], hidden_size=flags["hidden-size"], ffn_hidden_size=flags["ffn-hidden-size"],
        num_attention_heads=flags["num-attention-heads"], num_query_groups=flags.get("num-query-groups"),
        kv_channels=flags.get("kv-channels"), normalization=flags["normalization"], layernorm_epsilon=flags["norm-epsilon"],
        qk_layernorm=flags.get("qk-layernorm", False), gated_linear_unit=gated,
        activation_func=torch.nn.functional.silu if gated else torch.nn.functional.gelu,
        add_bias_linear="disable-bias-linear" not in flags, hidden_dropout=0.0, attention_dropout=0.0,
        use_cpu_initialization=True, params_dtype=torch.float32, bias_dropout_fusion=False, bias_activation_fusion=False,
        mtp_num_layers=flags.get("mtp-num-layers"), mtp_loss_scaling_factor=flags.get("mtp-loss-scaling-factor", 0.1),
        masked_softmax_fusion=False, persist_layer_norm=False, gradient_accumulation_fusion=False)
    spec = get_gpt_layer_local_spec(qk_layernorm=config.qk_layernorm, normalization=config.normalization)
    mtp = get_gpt_mtp_block_spec(config, spec, use_transformer_engine=False) if config.mtp_num_layers else None
    return GPTModel(config, spec, mtp_block_spec=mtp, vocab_size=flags["vocab-size"], max_sequence_length=SEQ,
                    position_embedding_type=flags["position-embedding-type"], rotary_base=flags.get("rotary-base", 10000),
                    share_embeddings_and_output_weights="untie-embeddings-and-output-weights" not in flags)


def random_weights(model, generator):
    """No parameter keeps a value that hides a mistake: no zero bias, no norm weight of one."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            is_norm = "layernorm" in name and name.endswith("weight")
            p.copy_(0.15 * noise if p.dim() > 1 else is_norm + 0.1 * noise)


def forward(model, batch):
    """The loss, the logits [batch, seq, vocabulary], and the losses of multi-token prediction."""
    seen = []
    MTPLossLoggingHelper.tracker.clear()
    def keep(module, given, result):  # the loss is computed in its memory
        seen.append(result[0].detach().clone())

    hook = model.output_layer.register_forward_hook(keep)
    positions = torch.arange(SEQ)[None].expand(BATCH, -1)
    mask = torch.triu(torch.ones(SEQ, SEQ, dtype=torch.bool), 1)[None, None]
    loss = model(batch["input_ids"], positions, mask, labels=batch["targets"]).mean()
    hook.remove()
    further = MTPLossLoggingHelper.tracker.get("values", torch.zeros(0)).detach().clone()
    return loss, seen[-1].transpose(0, 1).contiguous(), further  # the main head comes last


def backward(model, batches):
    """Of a step's micro-batches the losses, the first one's logits, and the losses of multi-token prediction."""
    model.zero_grad()
    done = []
    for batch in batches:
        loss, logits, further = forward(model, batch)
        (loss / len(batches)).backward()
        done.append((loss.detach(), logits, further))
    losses, logits, further = zip(*done)
    return torch.stack(losses), logits[0], torch.stack(further)


def first_step(model, batches):
    losses, logits, further = backward(model, batches)
    found = {"grad." + name: p.grad.clone() for name, p in model.named_parameters()}
    norm = torch.sqrt(sum(g.double().pow(2).sum() for g in found.values())).float()
    found.update(logits=logits, loss=losses, grad_norm=norm.reshape(1))
    return dict(found, mtp_loss=further) if further.numel() else found


def train(model, batches):
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [dict(params=matrices, weight_decay=0.1), dict(params=vectors, weight_decay=0.0)]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), eps=1e-8)
    losses, norms = [], []
    for k in range(STEPS):
        loss, _, _ = backward(model, batches[MICRO_BATCHES * k:MICRO_BATCHES * (k + 1)])
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).detach())
        optimizer.step()
        losses.append(loss.mean())
    found = {"train.losses": torch.stack(losses), "train.grad_norms": torch.stack(norms)}
    for name, p in model.named_parameters():
        if p.dim() == 1:
            found["after3." + name] = p.detach().clone()
        found["after3.sumsq." + name] = p.detach().double().pow(2).sum().float().reshape(1)
    return found


def make(name, flags, folder):
    flags = dict(flags, **{"seq-length": SEQ, "max-position-embeddings": SEQ, "micro-batch-size": BATCH,
                           "global-batch-size": MICRO_BATCHES * BATCH, "make-vocab-size-divisible-by": 1,
                           "hidden-dropout": 0.0, "attention-dropout": 0.0})
    generator = torch.Generator().manual_seed(1 + sum(name.encode()))
    model = build(flags)
    random_weights(model, generator)
    draw = lambda: torch.randint(0, flags["vocab-size"], (BATCH, SEQ), generator=generator)
    batches = [dict(input_ids=draw(), targets=draw()) for _ in range(MICRO_BATCHES * STEPS)]
    folder.mkdir(parents=True, exist_ok=True)
    weights = {key: value.detach().clone() for key, value in model.state_dict().items() if torch.is_tensor(value)}
    save_file(weights, folder / "model.safetensors")
    tensors = first_step(model, batches[:MICRO_BATCHES])
    for i, batch in enumerate(batches):
        tensors.update({f"batch{i}.{key}": ids.to(torch.int32) for key, ids in batch.items()})
    tensors.update(train(model, batches))
    save_file(tensors, folder / "golden.safetensors")
    config = dict(flags=flags, micro_batches=MICRO_BATCHES, optimizer=OPTIMIZER, moe_layers=[])
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(f"{name:16} {size / 1024:6.1f} KiB  loss {float(tensors['loss'].mean()):.4f}"
          f"  of step three {float(tensors['train.losses'][-1]):.4f}")
    assert size <= 150 * 1024, f"{name} is too large to keep in the tree"


def main():
    torch.set_num_threads(1)  # sums in one order: the same bytes on any number of cores
    torch.use_deterministic_algorithms(True)
    torch.distributed.init_process_group("gloo", rank=0, world_size=1)
    parallel_state.initialize_model_parallel()
    MTPLossAutoScaler.set_loss_scale(torch.tensor(1.0 / MICRO_BATCHES))  # as its schedules do
    here = pathlib.Path(__file__).parent
    for name in sys.argv[1:] or CASES:
        make(name, CASES[name], here / name)


if __name__ == "__main__":
    main()
