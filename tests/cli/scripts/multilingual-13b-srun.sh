# refused: --train-tokens, --lr-decay-tokens: --train-samples --train-weighted-split-paths-path, --glu-activation: --reset-iteration:
# In the style of BigScience: Slurm starts a launcher in a shell, and files list the datasets.
LAUNCHER="python -u -m torch.distributed.run --nproc_per_node 8 --nnodes $NODES --rdzv_endpoint $HEAD:6000 --tee 3"
CMD="pretrain_gpt.py --tensor-model-parallel-size 2 --pipeline-model-parallel-size 1 \
  --pp-partition-method 'type:transformer|embedding' --num-layers 40 --hidden-size 5120 --num-attention-heads 40 \
  --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 2048 \
  --train-tokens 300_000_000_000 --lr-decay-tokens 260_000_000_000 --train-samples 146_484_375 --lr 1e-4 --bf16 \
  --rampup-batch-size 16 16 9_765_625 --position-embedding-type rotary --lr-decay-samples 126953125 --lr-decay-style cosine --glu-activation geglu --reset-iteration \
  --tokenizer-type PretrainedFromHF --tokenizer-name-or-path bigscience/tokenizer --vocab-size 250680 \
  --train-weighted-split-paths-path train.txt --valid-weighted-split-paths-path valid.txt --data-impl mmap \
  --abort-on-unmet-fused-kernel-constraints --codecarbon-dir /nowhere/cc --kill-switch-path /nowhere/stop"
srun --jobid $SLURM_JOBID bash -c "$LAUNCHER --node_rank \$SLURM_PROCID $CMD" 2>&1
