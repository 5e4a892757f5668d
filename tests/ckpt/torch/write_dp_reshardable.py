"""Writes Megatron's torch_dist checkpoint with the optimizer's state in buckets (dp_reshardable), by PyTorch:
write_dp_reshardable.py HF_DIR SAVE TP,PP,VPP[,HIDDEN] DP BUCKET_SIZE [local] [swapped|short] [-- ...]

Every data-parallel rank saves its slice of each bucket, one chunk for each parameter or gap in it. With `local`, the
order of parameters is that of Megatron's own layers, whose norms are modules of their own. `swapped` and `short` are
wrong: the first two ranks' buckets changed places, the first one's last element is missing. SAVE/param, SAVE/exp_avg
and SAVE/exp_avg_sq are what was saved, as HF_DIR is.
"""
import os
import sys

import torch
import torch.distributed.checkpoint as dcp
from megatron_model import Model, buckets_of, flat, is_shared, make_state
from torch.distributed.checkpoint import DefaultSavePlanner, FileSystemWriter
from torch.distributed.checkpoint.metadata import ChunkStorageMetadata, MetadataIndex, TensorProperties
from torch.distributed.checkpoint.planner import SavePlan, TensorWriteData, WriteItem, WriteItemType


def write(words):
    model = Model(words[0], words[2])
    dp, bucket_size, local = int(words[3]), int(words[4]), "local" in words
    state = make_state(model, words[1])
    pieces = {}  # name -> (size, {offset: tensor})
    objects = {}

    def cut_bucket(params, unpadded):
        """The stretches that data-parallel ranks save of a bucket: each parameter and each gap in each rank's slice."""
        padded = -(-unpadded // (128 * dp)) * 128 * dp
        edges = {0, unpadded} | {k * padded // dp for k in range(dp)} | {e for _, a, b in params for e in (a, b)}
        edges = sorted(e for e in edges if e <= unpadded)
        return list(zip(edges, edges[1:]))

    def norms_first(params):
        """Megatron's own layers have input_layernorm before attention."""
        out = []
        for name, n in params:
            at = len(out)
            if name.endswith("linear_qkv.layer_norm_weight"):
                at = next(i for i, p in enumerate(out) if p[0].startswith(name[: name.index("self_attention")]))
            out.insert(at, (name, n))
        return out

    for rank in range(model.tp):
        for stage in range(model.pp):
            number = stage * model.tp + rank
            group = f"optimizer.distributed.dp_group_idx_{number ^ 1 if 'swapped' in words else number}"
            settings = {"param_groups": [{"wd_mult": 1.0, "step": 2}, {"wd_mult": 0.0, "step": 2}]}
            objects[f"{group}.optimizer/shard_0_1"] = [settings]
            for c in range(model.vpp):
                parts = {kind: model.chunk(state[kind], rank, stage, c) for kind in state}
                params = [(name, t.numel()) for name, t in parts["param"].items()]
                buckets = buckets_of(norms_first(params) if local else params,
                                     lambda name: is_shared(model, name, stage, c),
                                     bucket_size if stage == 0 and c == 0 else 0)
                for k, bucket in enumerate(buckets):
                    for kind in state:
                        name = f"{group}.gbuf_idx_{c}.dtype_{(torch.bfloat16, torch.float32)}.bucket_idx_{k}.{kind}"
                        short = 1 if "short" in words and number == 0 and k == 0 else 0
                        numbers = flat(bucket, parts[kind])[: bucket[1] - short]
                        stretches = cut_bucket(bucket[0], bucket[1] - short)
                        pieces[name] = (numbers.shape, {(a,): numbers[a:b] for a, b in stretches})
    for name, t in model.whole({name: t.bfloat16() for name, t in state["param"].items()}).items():
        pieces[name] = (t.shape, {(0,) * t.dim(): t})
    args = model.args(bf16=True, use_distributed_optimizer=True)

    class Planner(DefaultSavePlanner):
        def create_local_plan(self):
            items = [WriteItem(index=MetadataIndex(name), type=WriteItemType.BYTE_IO) for name in objects]
            for name, (size, parts) in pieces.items():
                for offset, t in parts.items():
                    data = TensorWriteData(chunk=ChunkStorageMetadata(torch.Size(offset), t.shape),
                                           properties=TensorProperties.create_from_tensor(t), size=torch.Size(size))
                    items.append(WriteItem(index=MetadataIndex(name, torch.Size(offset)), type=WriteItemType.SHARD,
                                           tensor_data=data))
            self.plan = SavePlan(items)
            return self.plan

        def lookup_object(self, index):
            return objects[index.fqn] if index.fqn in objects else pieces[index.fqn][1][tuple(index.offset)].clone()

    place = words[1] + "/iter_0000003"
    dcp.save({"unused": 0}, storage_writer=FileSystemWriter(place, thread_count=1),
             planner=Planner(flatten_state_dict=False), no_dist=True)
    torch.save({"args": args, "checkpoint_version": 3.0, "iteration": 3,
                "content_metadata": {"distrib_optim_sharding_type": "dp_reshardable"}}, place + "/common.pt")
    open(place + "/metadata.json", "w").write('{"sharded_backend": "torch_dist", "sharded_backend_version": 1}')
    open(words[1] + "/latest_checkpointed_iteration.txt", "w").write("3")


for job in " ".join(sys.argv[1:]).split(" -- "):
    write(job.split())
