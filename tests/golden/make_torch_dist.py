"""Makes torch_dist_example/: a checkpoint that Megatron Core writes, and expected.json, what PyTorch reads of it. It is
of two tensor-parallel ranks after ten steps of random gradients, in bf16 with the distributed optimizer's state.
make_torch_dist.py, run by a Python with megatron-core."""
import argparse
import hashlib
import json
import os
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE / "torch_dist_example"
STEPS, BATCH = 10, 8
ARGS = dict(num_layers=1, hidden_size=8, num_attention_heads=4, num_query_groups=2, group_query_attention=True,
            ffn_hidden_size=12, kv_channels=2, seq_length=16, max_position_embeddings=16, padded_vocab_size=16,
            make_vocab_size_divisible_by=8, swiglu=True, normalization="RMSNorm", norm_epsilon=1e-5,
            position_embedding_type="rope", rotary_base=10000, rotary_percent=1.0, add_bias_linear=False,
            add_qkv_bias=False, untie_embeddings_and_output_weights=False, bf16=True, global_batch_size=BATCH,
            micro_batch_size=1, lr=1e-3, min_lr=1e-4, weight_decay=0.1, adam_beta1=0.9, adam_beta2=0.95,
            adam_eps=1e-8, clip_grad=1.0, use_distributed_optimizer=True, tensor_model_parallel_size=2,
            pipeline_model_parallel_size=1, data_parallel_size=1, iteration=0, consumed_train_samples=0)
SCHEDULER = dict(max_lr=1e-3, lr_warmup_steps=8, num_steps=0, lr_decay_style="cosine", lr_decay_steps=800,
                 min_lr=1e-4, start_wd=0.1, end_wd=0.1, wd_incr_style="constant", wd_incr_steps=800)


def write(rank, folder):
    sys.path.insert(0, str(HERE.parent / "ckpt/torch"))
    import megatron_core as core
    import torch
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/ranks", rank=rank, world_size=2)
    core.parallel_state.initialize_model_parallel(2, 1)
    torch.manual_seed(7)
    args = argparse.Namespace(**ARGS)
    config, model = core.build(args, 2, 1)
    ddp, optimizer = core.with_optimizer(args, config, model, distributed=True)
    generator = torch.Generator().manual_seed(11)
    for _ in range(STEPS):
        ddp.zero_grad_buffer()
        for p in model.parameters():  # both ranks draw the same numbers: what they hold in common stays the same
            p.main_grad.copy_(torch.randn(p.shape, generator=generator) * 0.1)
        ddp.finish_grad_sync()
        optimizer.step()
    core.save(str(folder), args, dict(iteration=0, opt_param_scheduler=SCHEDULER), model, optimizer,
              "fully_reshardable", STEPS)
    torch.distributed.barrier()


def expected(place):
    import torch
    from torch.distributed.checkpoint import FileSystemReader, load
    from torch.distributed.checkpoint.metadata import TensorStorageMetadata
    reader = FileSystemReader(place)
    found = {name: torch.empty(m.size, dtype=m.properties.dtype)
             for name, m in reader.read_metadata().state_dict_metadata.items()
             if isinstance(m, TensorStorageMetadata)}
    load(found, storage_reader=reader, no_dist=True)
    return {name: dict(dtype=str(t.dtype).removeprefix("torch."), shape=list(t.shape),
                       sha256=hashlib.sha256(t.contiguous().view(torch.uint8).numpy().tobytes()
                                             if t.dim() else t.reshape(1).view(torch.uint8).numpy().tobytes()).hexdigest())
            for name, t in sorted(found.items())}


def main():
    import torch
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(write, (folder,), nprocs=2)
        shutil.rmtree(OUT, ignore_errors=True)
        OUT.mkdir()
        for name in (f"iter_{STEPS:07d}", "latest_checkpointed_iteration.txt"):
            shutil.move(f"{folder}/{name}", OUT / name)
    text = json.dumps(dict(tensors=expected(OUT / f"iter_{STEPS:07d}")), indent=0)
    (OUT / "expected.json").write_text(text + "\n")
    print(f"{sum(f.stat().st_size for f in OUT.rglob('*') if f.is_file()) / 1024:.1f} KiB")


if __name__ == "__main__":
    main()
