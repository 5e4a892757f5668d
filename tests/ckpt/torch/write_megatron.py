"""Writes Megatron's `torch` checkpoint of a llama or qwen2 model:
write_megatron.py HF_DIR SAVE TP,PP,VPP[,HIDDEN] [OPTIMIZER] [-- ...]

OPTIMIZER is one of:
- none
- float16: bf16 weights; main values and moments by the parameters' numbers
- float32: moments only
- distributed: flat buffers. distributed:3000 has buckets of 3000 elements. ":other" at the end: a buffer of another model.
The bf16 weights then come from main values. These and the moments are also in SAVE/param, SAVE/exp_avg and
SAVE/exp_avg_sq, in the form of HF_DIR.
"""
import os
import sys

import torch
from megatron_model import Model, buckets_of, flat, is_shared, make_state

# As Megatron's DynamicGradScaler.state_dict().
SCALER = {"scale": torch.tensor([65536.0]), "growth_tracker": 7, "hysteresis_tracker": 1}


def write(words):
    model = Model(words[0], words[2])
    kind, bucket_size, other = (*(words[3] if len(words) > 3 else "none").split(":"), "", "")[:3]
    bucket_size = int(bucket_size or 0)
    state = make_state(model, words[1]) if kind != "none" else None
    if kind == "none":
        weights = model.hf
    elif kind == "float32":
        weights = state["param"]
    else:
        weights = {name: t.bfloat16() for name, t in state["param"].items()}
    args = model.args(bf16=kind in ("float16", "distributed"), use_distributed_optimizer=kind == "distributed",
                      overlap_grad_reduce=bucket_size > 0, ddp_bucket_size=bucket_size or None, data_parallel_size=2)
    place = words[1] + "/iter_0000003"

    def grouped(rank, stage):
        """PyTorch's own AdamW has written its part: two groups, with and without weight decay."""
        flat_lists = {kind: [pair for c in range(model.vpp) for pair in model.chunk(tensors, rank, stage, c).items()]
                      for kind, tensors in state.items()}
        groups, moments = {1.0: [], 0.0: []}, {}
        for i, (name, main) in enumerate(flat_lists["param"]):
            p = torch.nn.Parameter(main)
            groups[0.0 if name.endswith(".bias") or main.dim() == 1 else 1.0].append(p)
            moments[p] = {"step": torch.tensor(2.0), "exp_avg": flat_lists["exp_avg"][i][1],
                          "exp_avg_sq": flat_lists["exp_avg_sq"][i][1]}
        common = dict(lr_mult=1.0, is_expert_parallel=False, is_decoupled_lr=False)
        adam = torch.optim.AdamW([dict(params=p, wd_mult=wd, **common) for wd, p in groups.items()])
        for p, moment in moments.items():
            adam.state[p] = moment
        if kind == "float32":
            return adam.state_dict()
        mains = [[p.detach() for p in group] for group in groups.values()]
        return {"optimizer": adam.state_dict(), "fp32_from_fp16_params": mains, "grad_scaler": SCALER}

    def distributed(rank, stage):
        out = {"buckets_coalesced": True}
        for c in range(model.vpp):
            parts = {kind: model.chunk(state[kind], rank, stage, c) for kind in state}
            params = [(name, t.numel()) for name, t in parts["param"].items()]
            buckets = buckets_of(params, lambda name: is_shared(model, name, stage, c),
                                 bucket_size if stage == 0 and c == 0 else 0)
            tensors = {kind: torch.cat([flat(b, parts[kind]) for b in buckets]) for kind in state}
            tensors["numel_unpadded"] = sum(size for _, size in buckets) - (1 if other else 0)
            out[c] = {(torch.bfloat16, torch.float32): tensors}
        return out

    for rank in range(model.tp):
        for stage in range(model.pp):
            content = {"args": args, "checkpoint_version": 3.0, "iteration": 3, "opt_param_scheduler": None}
            for chunk in range(model.vpp):
                tensors = model.chunk(weights, rank, stage, chunk)
                for name in [n for n in tensors if n.endswith("linear_qkv.weight")]:
                    tensors[name.replace(".weight", "._extra_state")] = None
                content["model" if model.vpp == 1 else f"model{chunk}"] = tensors
            directory = f"{place}/mp_rank_{rank:02d}" + (f"_{stage:03d}" if model.pp > 1 else "")
            os.makedirs(directory)
            if kind in ("float16", "float32"):
                content["optimizer"] = grouped(rank, stage)
            if kind == "distributed":
                content["optimizer"] = {"optimizer": {"param_groups": [{"wd_mult": 1.0, "step": 2}, {"wd_mult": 0.0}]},
                                        "grad_scaler": SCALER}
                torch.save(distributed(rank, stage), f"{directory}/distrib_optim.pt")
            torch.save(content, f"{directory}/model_optim_rng.pt")
    open(words[1] + "/latest_checkpointed_iteration.txt", "w").write("3")


for job in " ".join(sys.argv[1:]).split(" -- "):
    write(job.split())
