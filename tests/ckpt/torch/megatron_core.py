"""Loads a checkpoint with Megatron-LM's own library (pip install megatron-core psutil), on the CPU:
megatron_core.py ITERATION_DIR RESULT TP,PP,DP[,EP] STEPS TOKENS SAVE KIND

Each rank builds its part of the model from the checkpoint's arguments. It loads the part with the optimizer's state, as
megatron/training/checkpointing.py does. A missing or unused tensor is an error. A single rank trains STEPS steps on the
one sample TOKENS ("3,1,4"). All ranks save under SAVE, as KIND:
- fully_reshardable or dp_reshardable: torch_dist with the distributed optimizer's state.
- plain: torch_dist with the other optimizer's state, of a first step that follows the others.
- torch: Megatron's old format with the distributed optimizer's state; torch_plain: with the other's.
Suffixes of fully_reshardable: +local names norms as layers without transformer-engine do. +singleton gives experts, gates
and ups separate tensors. +chained numbers the optimizers of a chain.
A single rank then trains STEPS more. RESULT: the losses, as JSON lists "before" and "after" saving.
"""
import contextlib
import faulthandler
import json
import os
import sys

os.environ["TORCHDYNAMO_DISABLE"] = "1"  # what it compiles would take longer than the test

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode


class OnTheCpu(TorchFunctionMode):
    """Where Megatron Core names the GPU."""

    def __torch_function__(self, f, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if str(kwargs.get("device", "")).startswith("cuda"):
            kwargs["device"] = "cpu"
        if f is torch.Tensor.type and len(args) == 1:
            return f(*args).replace("torch.", "torch.cuda.")
        return f(*args, **kwargs)


torch.cuda.current_device = lambda: torch.device("cpu")
torch.cuda.synchronize = torch.cuda.current_stream = lambda *_, **__: None
torch.Tensor.cuda = lambda self, *_, **__: self
empty = torch.empty  # is handed all that PyTorch's metadata tell of a tensor, of which newer ones tell more
torch.empty = lambda *args, strides=None, **kwargs: empty(*args, **kwargs)


class GroupedAdamW(torch.optim.Optimizer):
    """AdamW as Apex and Transformer Engine have it, which Megatron-LM takes: steps are counted in the groups."""

    def __init__(self, params, lr, betas, eps, weight_decay, **_):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, bias_correction=True))

    @torch.no_grad()
    def step(self, closure=None):
        for g in self.param_groups:
            g["step"] = g.get("step", 0) + 1
            b1, b2 = g["betas"]
            for p in filter(lambda p: p.grad is not None, g["params"]):
                s = self.state[p]
                if not s:
                    s.update(exp_avg=torch.zeros_like(p), exp_avg_sq=torch.zeros_like(p))
                s["exp_avg"].lerp_(p.grad, 1 - b1)
                s["exp_avg_sq"].mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
                root = (s["exp_avg_sq"] / (1 - b2 ** g["step"])).sqrt() + g["eps"]
                p.mul_(1 - g["lr"] * g["weight_decay"]).addcdiv_(s["exp_avg"], root, value=-g["lr"] / (1 - b1 ** g["step"]))


OnTheCpu().__enter__()
import megatron.core.optimizer as optimizers
from megatron.core import dist_checkpointing, parallel_state
from megatron.core.dist_checkpointing.mapping import ShardedObject
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
from megatron.core.distributed.finalize_model_grads import _update_router_expert_bias, reset_model_temporary_tensors
from megatron.core.models.gpt.gpt_layer_specs import (
    get_gpt_decoder_block_spec, get_gpt_layer_local_spec, get_gpt_mtp_block_spec)
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.optimizer import distrib_optimizer
from megatron.core.tensor_parallel.random import CudaRNGStatesTracker
from megatron.core.transformer import dot_product_attention, multi_latent_attention
from megatron.core.transformer.moe import moe_utils
from megatron.core.transformer.transformer_config import MLATransformerConfig, TransformerConfig
from megatron.core.transformer.transformer_layer import TransformerLayer

CudaRNGStatesTracker.fork = lambda *_, **__: contextlib.nullcontext()
optimizers.Adam = distrib_optimizer.Adam = GroupedAdamW
optimizers.USING_PYTORCH_OPTIMIZER = False
distrib_optimizer.HAVE_APEX_OR_TE = distrib_optimizer.USING_APEX_OPTIMIZER = True

attention_init = dot_product_attention.DotProductAttention.__init__


def init_attention(self, *args, k_channels=None, v_channels=None, **more):
    """Megatron's own attention, for keys and values of two widths."""
    attention_init(self, *args, **more)
    if v_channels:
        self.hidden_size_per_partition = v_channels * self.config.num_attention_heads


dot_product_attention.DotProductAttention.__init__ = init_attention
if not hasattr(moe_utils, "te_general_gemm"):
    moe_utils.te_general_gemm = None
for absent in ("TELinear", "TEColumnParallelLinear", "Linear"):  # classes of transformer-engine
    if not isinstance(getattr(multi_latent_attention, absent, None), type):
        setattr(multi_latent_attention, absent, type(absent, (), {}))

MIXTURE = ("moe_layer_freq moe_ffn_hidden_size moe_router_topk moe_router_score_function moe_router_pre_softmax "
           "moe_router_topk_scaling_factor moe_router_dtype moe_router_num_groups moe_router_group_topk "
           "moe_router_enable_expert_bias moe_router_bias_update_rate moe_router_load_balancing_type moe_aux_loss_coeff "
           "moe_z_loss_coeff moe_shared_expert_intermediate_size moe_shared_expert_gate").split()
LATENT = ("multi_latent_attention q_lora_rank kv_lora_rank qk_head_dim qk_pos_emb_head_dim v_head_dim rope_type "
          "rotary_scaling_factor original_max_position_embeddings beta_fast beta_slow mscale mscale_all_dim "
          "rotary_base").split()
PARTS = ("input_layernorm.", "self_attention.linear_qkv.layer_norm_"), ("pre_mlp_layernorm.", "mlp.linear_fc1.layer_norm_")


def names_of(layer, engine):
    """How a layer's norms are called in files: with transformer-engine, or in its local layers, which take every
    mixture's norm for a part of a dense MLP."""
    mixture, latent = not hasattr(layer.mlp, "linear_fc1"), hasattr(layer.self_attention, "linear_kv_up_proj")
    if latent and engine:
        up = {f"self_attention.{q}_layernorm.": f"self_attention.linear_{q}_up_proj.layer_norm_" for q in ("q", "kv")}
        return up if mixture else dict(up, **dict(PARTS[1:]))
    return {} if latent else dict(PARTS[:1] if mixture and engine else PARTS)


def spell(model, engine):
    for layer in model.modules():
        if isinstance(layer, TransformerLayer):
            layer.submodules_config.sharded_state_dict_keys_map = names_of(layer, engine)


def build(a, tp, pp, ep):
    dtype = torch.bfloat16 if a.bf16 else torch.float32
    mixture = dict({k: getattr(a, k) for k in MIXTURE}, num_moe_experts=a.num_experts, expert_model_parallel_size=ep,
                   moe_token_dispatcher_type="allgather") if a.num_experts else {}
    latent = {k: getattr(a, k) for k in LATENT} if a.multi_latent_attention else {}
    config = (MLATransformerConfig if latent else TransformerConfig)(
        num_layers=a.num_layers, hidden_size=a.hidden_size, num_attention_heads=a.num_attention_heads,
        num_query_groups=a.num_query_groups if a.group_query_attention else None, ffn_hidden_size=a.ffn_hidden_size,
        kv_channels=a.kv_channels, gated_linear_unit=a.swiglu, activation_func=F.silu if a.swiglu else lambda x: F.gelu(x, approximate="tanh"),
        add_bias_linear=a.add_bias_linear, add_qkv_bias=a.add_qkv_bias, normalization=a.normalization,
        layernorm_epsilon=a.norm_epsilon, hidden_dropout=0.0, attention_dropout=0.0, params_dtype=dtype, bf16=a.bf16,
        pipeline_dtype=dtype, tensor_model_parallel_size=tp, pipeline_model_parallel_size=pp,
        use_cpu_initialization=True, gradient_accumulation_fusion=False, masked_softmax_fusion=False,
        persist_layer_norm=False, bias_dropout_fusion=False, mtp_num_layers=a.mtp_num_layers,
        mtp_loss_scaling_factor=a.mtp_loss_scaling_factor, qk_layernorm=a.qk_layernorm, **mixture, **latent)
    spec = (get_gpt_decoder_block_spec(config, use_transformer_engine=False, normalization=a.normalization)
            if mixture else get_gpt_layer_local_spec(
                normalization=a.normalization, qk_layernorm=a.qk_layernorm, multi_latent_attention=bool(latent)))
    model = GPTModel(
        config, spec,
        mtp_block_spec=get_gpt_mtp_block_spec(config, spec, False) if a.mtp_num_layers else None, vocab_size=a.padded_vocab_size,
        max_sequence_length=a.max_position_embeddings, pre_process=parallel_state.is_pipeline_first_stage(),
        post_process=parallel_state.is_pipeline_last_stage(), position_embedding_type=a.position_embedding_type,
        share_embeddings_and_output_weights=not a.untie_embeddings_and_output_weights, rotary_base=a.rotary_base,
        rotary_percent=a.rotary_percent)
    spell(model, engine=True)
    kept = {n: b.clone() for n, b in model.named_buffers() if n.endswith("expert_bias")}  # f32 always
    model = model.to(dtype)
    for name, bias in kept.items():
        module, _, own = name.rpartition(".")
        setattr(model.get_submodule(module), own, bias)
    return config, model


def with_optimizer(a, config, model, distributed):
    ddp = DistributedDataParallel(
        config, DistributedDataParallelConfig(use_distributed_optimizer=distributed, grad_reduce_in_fp32=True), model)
    optimizer = optimizers.get_megatron_optimizer(optimizers.OptimizerConfig(
        optimizer="adam", lr=a.lr, min_lr=a.min_lr, weight_decay=a.weight_decay, adam_beta1=a.adam_beta1,
        adam_beta2=a.adam_beta2, adam_eps=a.adam_eps, clip_grad=a.clip_grad, bf16=a.bf16, params_dtype=config.params_dtype,
        use_distributed_optimizer=distributed), [ddp])
    for group in optimizer.param_groups:  # Megatron-LM's scheduler does this before each step
        group["weight_decay"] = a.weight_decay * group["wd_mult"]
    return ddp, optimizer


def sharded(model, optimizer, metadata, is_loading=False):
    metadata = dict(metadata, dp_cp_group=parallel_state.get_data_parallel_group(with_context_parallel=True))
    out = {"model": model.sharded_state_dict(metadata=metadata)}
    if optimizer is not None:
        out["optimizer"] = optimizer.sharded_state_dict(out["model"], is_loading=is_loading, metadata=metadata)
    return out


def load(place, model, optimizer):
    metadata = dist_checkpointing.load_content_metadata(place)
    state, missing, unexpected = dist_checkpointing.load(
        sharded(model, optimizer, metadata, is_loading=True), place, strict="return_all")
    lost = sorted(k for k in missing | unexpected if not k.endswith("_extra_state"))
    if lost:
        sys.exit(f"missing or left over: {lost}")
    model.load_state_dict(state["model"], strict=False)
    optimizer.load_state_dict(state["optimizer"])


def train(ddp, optimizer, tokens):
    model, n = ddp.module, tokens.shape[1] - 1
    ddp.zero_grad_buffer()
    mask = torch.ones(1, 1, n, n).triu(1).bool()
    loss = model(tokens[:, :-1], torch.arange(n)[None], mask, labels=tokens[:, 1:]).float().mean()
    loss.backward()
    ddp.finish_grad_sync()
    if getattr(model.config, "moe_router_enable_expert_bias", False):
        _update_router_expert_bias([ddp], model.config)
        reset_model_temporary_tensors(model.config, [ddp])
    optimizer.step()
    return loss.item()


def save_torch(place, state, model, optimizer):
    tp, pp = parallel_state.get_tensor_model_parallel_rank(), parallel_state.get_pipeline_model_parallel_rank()
    place += f"/mp_rank_{tp:02d}" + (f"_{pp:03d}" if parallel_state.get_pipeline_model_parallel_world_size() > 1 else "")
    if parallel_state.get_expert_model_parallel_world_size() > 1:
        place += f"_{parallel_state.get_expert_model_parallel_rank():03d}"
    os.makedirs(place, exist_ok=True)
    if state["args"].use_distributed_optimizer:  # of all ranks, gathered by the first
        optimizer.save_parameter_state(place + "/distrib_optim.pt")
    if parallel_state.get_expert_data_parallel_rank() == 0:
        state = dict(state, model=model.state_dict_for_save_checkpoint(), optimizer=optimizer.state_dict())
        torch.save(state, place + "/model_optim_rng.pt")


def save(place, a, common, model, optimizer, kind, steps):
    a.iteration = common["iteration"] + steps
    a.consumed_train_samples += steps * a.global_batch_size
    scheduler = dict(common["opt_param_scheduler"])
    scheduler["num_steps"] += steps * a.global_batch_size
    state = dict(args=a, checkpoint_version=3.0, iteration=a.iteration, num_floating_point_operations_so_far=0,
                 opt_param_scheduler=scheduler)
    tracker, place = place + "/latest_checkpointed_iteration.txt", place + f"/iter_{a.iteration:07d}"
    os.makedirs(place, exist_ok=True)
    if kind.startswith("torch"):
        save_torch(place, state, model, optimizer)
    else:
        kind, _, form = kind.partition("+")
        spell(model, engine=form != "local")
        metadata = {"distrib_optim_sharding_type": kind, "singleton_local_shards": form == "singleton",
                    "chained_optim_avoid_prefix": form != "chained"}
        rng = ShardedObject("rng_state", [{"numpy": 1}], (1,), (0,), replica_id=torch.distributed.get_rank())
        state.update(sharded(model, optimizer, metadata), rng_state=rng)
        dist_checkpointing.save(state, place, content_metadata=metadata)
    with open(tracker, "w") as f:
        f.write(str(a.iteration))


def run(rank, words):
    place, result, shape, steps, tokens, saved, kind = words
    tp, pp, dp, ep = (*map(int, shape.split(",")), 1)[:4]
    torch.distributed.init_process_group("gloo", init_method=f"file://{result}.ranks", rank=rank, world_size=tp * pp * dp)
    parallel_state.initialize_model_parallel(tp, pp, expert_model_parallel_size=ep)
    common = dist_checkpointing.load_common_state_dict(place)
    a = common["args"]
    a.tensor_model_parallel_size, a.pipeline_model_parallel_size, a.data_parallel_size = tp, pp, dp
    a.expert_model_parallel_size, a.expert_tensor_parallel_size = ep, tp
    a.use_distributed_optimizer = "plain" not in kind
    config, model = build(a, tp, pp, ep)
    ddp, optimizer = with_optimizer(a, config, model, distributed=True)
    load(place, model, optimizer)
    sample = torch.tensor([[int(t) for t in tokens.split(",")]])
    before = [train(ddp, optimizer, sample) for _ in range(int(steps))]
    if "plain" in kind:
        ddp, optimizer = with_optimizer(a, config, model, distributed=False)
        before.append(train(ddp, optimizer, sample))
    save(saved, a, common, model, optimizer, kind, len(before))
    after = [train(ddp, optimizer, sample) for _ in range(int(steps))]
    if rank == 0:
        json.dump({"before": before, "after": after}, open(result, "w"))
    torch.distributed.barrier()


def main(words):
    faulthandler.dump_traceback_later(100, exit=True)  # rather than hang
    tp, pp, dp = map(int, words[2].split(",")[:3])
    if tp * pp * dp == 1:
        return run(0, words)
    torch.multiprocessing.spawn(run, (words,), nprocs=tp * pp * dp)


if __name__ == "__main__":
    main(sys.argv[1:])
