"""Makes torch_dist_fp8/, a small Llama as Megatron Core writes it after training with --fp8-recipe delayed. Beside it
stands expected.json, the scales and histories of its linear modules. PyTorch writes the checkpoint, with Transformer Engine's
own class of the recipe. make_fp8_history.py TRANSFORMER_ENGINE, its package folder, run by a Python with torch."""
import argparse
import importlib.util
import json
import pathlib
import pickle
import shutil
import sys
import types

import torch
import torch.distributed.checkpoint as dcp

OUT = pathlib.Path(__file__).resolve().parent / "torch_dist_fp8"
LAYERS, HIDDEN, FFN, VOCAB, HISTORY, STEPS = 2, 16, 16, 16, 4, 10
ARGS = dict(num_layers=LAYERS, hidden_size=HIDDEN, num_attention_heads=1, num_query_groups=1,
            group_query_attention=True, ffn_hidden_size=FFN, kv_channels=16, seq_length=16, max_position_embeddings=16,
            padded_vocab_size=VOCAB, make_vocab_size_divisible_by=16, swiglu=True, normalization="RMSNorm",
            norm_epsilon=1e-5, position_embedding_type="rope", rotary_base=10000, rotary_percent=1.0,
            add_bias_linear=False, add_qkv_bias=False, untie_embeddings_and_output_weights=False, bf16=True,
            fp8="hybrid", fp8_recipe="delayed", fp8_amax_history_len=HISTORY, fp8_amax_compute_algo="max",
            global_batch_size=8, micro_batch_size=1, tensor_model_parallel_size=1, pipeline_model_parallel_size=1,
            data_parallel_size=1, iteration=STEPS, consumed_train_samples=8 * STEPS)
SCHEDULER = dict(max_lr=1e-3, lr_warmup_steps=8, num_steps=8 * STEPS, lr_decay_style="cosine", lr_decay_steps=800,
                 min_lr=1e-4, start_wd=0.1, end_wd=0.1, wd_incr_style="constant", wd_incr_steps=800)
OPTIMIZER = dict(optimizer=dict(param_groups=[dict(step=STEPS, lr=1e-3, weight_decay=0.1, betas=(0.9, 0.95), eps=1e-8)]),
                 param_state_sharding_type="fully_reshardable")
MODULES = {"self_attention.linear_qkv": 48, "self_attention.linear_proj": HIDDEN, "mlp.linear_fc1": 2 * FFN,
           "mlp.linear_fc2": HIDDEN}


def recipe_of(package):
    name = "transformer_engine.common.recipe"
    spec = importlib.util.spec_from_file_location(name, pathlib.Path(package) / "common/recipe/__init__.py")
    for parent in ("transformer_engine", "transformer_engine.common"):  # the real ones load libraries of CUDA
        sys.modules[parent] = types.ModuleType(parent)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.DelayedScaling(fp8_format=module.Format.HYBRID, amax_history_len=HISTORY, amax_compute_algo="max")


def main():
    recipe = recipe_of(sys.argv[1])
    torch.manual_seed(5)
    stack = "decoder.layers."
    state = {"embedding.word_embeddings.weight": torch.randn(VOCAB, HIDDEN),
             "decoder.final_layernorm.weight": torch.ones(HIDDEN)}
    expected = {}
    for module, rows in MODULES.items():
        columns = FFN if module.endswith("fc2") else HIDDEN
        state[f"{stack}{module}.weight"] = torch.randn(LAYERS, rows, columns) * 0.1
        if module.endswith(("qkv", "fc1")):
            state[f"{stack}{module}.layer_norm_weight"] = torch.ones(LAYERS, HIDDEN)
        for layer in range(LAYERS):
            meta = dict(recipe=recipe, scale_fwd=torch.rand(3) * 64, amax_history_fwd=torch.rand(HISTORY, 3),
                        scale_bwd=torch.rand(2) * 64, amax_history_bwd=torch.rand(HISTORY, 2),
                        extra_fp8_variables=dict(fp8_checkpoint=True, num_gemms=1))
            for history in ("amax_history_fwd", "amax_history_bwd"):
                meta[history][0] = 0  # as after each update
            if (module, layer) == ("mlp.linear_fc2", 1):  # its gradients were never cast
                meta["scale_bwd"][:], meta["amax_history_bwd"][:] = 1, 0
            text = bytearray(pickle.dumps(meta))
            state[f"{stack}{module}._extra_state/shard_{layer}_{LAYERS}"] = [torch.frombuffer(text, dtype=torch.uint8)]
            seen = meta["amax_history_bwd"].any()
            expected[f"decoder.layers.{layer}.{module}"] = [
                *meta["scale_fwd"][:2].tolist(), meta["scale_bwd"][0].item() if seen else 0.0,
                *torch.cat([meta["amax_history_fwd"][:, :2], meta["amax_history_bwd"][:, :1]], 1).flatten().tolist()]
    for name in [n for n, t in state.items() if isinstance(t, torch.Tensor)]:
        for kind in ("exp_avg", "exp_avg_sq"):
            state[f"optimizer.state.{kind}.{name}"] = torch.zeros_like(state[name])
        state[f"optimizer.state.param.{name}"], state[name] = state[name], state[name].bfloat16()
    shutil.rmtree(OUT, ignore_errors=True)
    place = OUT / f"iter_{STEPS:07d}"
    place.mkdir(parents=True)
    planner = dcp.DefaultSavePlanner(flatten_state_dict=False)  # as Megatron Core's: lists stay objects
    dcp.save(state, storage_writer=dcp.FileSystemWriter(place), planner=planner, no_dist=True)
    torch.save(dict(args=argparse.Namespace(**ARGS), checkpoint_version=3.0, iteration=STEPS, optimizer=OPTIMIZER,
                    opt_param_scheduler=SCHEDULER), place / "common.pt")
    (place / "metadata.json").write_text(json.dumps(dict(sharded_backend="torch_dist", sharded_backend_version=1,
                                                         common_backend="torch", common_backend_version=1)))
    (OUT / "latest_checkpointed_iteration.txt").write_text(str(STEPS))
    (OUT / "expected.json").write_text(json.dumps(expected, indent=0) + "\n")
    print(f"{sum(f.stat().st_size for f in OUT.rglob('*') if f.is_file()) / 1024:.1f} KiB")


if __name__ == "__main__":
    main()
