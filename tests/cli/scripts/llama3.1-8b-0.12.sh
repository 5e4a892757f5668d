# plans
# Llama 3.1 8B with the flags of Megatron Core 0.12.
ARGS=(
  --use-mcore-models --transformer-impl transformer_engine
  --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32
  --group-query-attention --num-query-groups 8 --seq-length 8192 --max-position-embeddings 131072
  --position-embedding-type rope --rotary-base 500000 --use-rope-scaling --rotary-percent 1.0
  --normalization RMSNorm --swiglu --disable-bias-linear --untie-embeddings-and-output-weights
  --attention-dropout 0.0 --hidden-dropout 0.0 --init-method-std 0.01 --attention-backend flash
  --micro-batch-size 1 --global-batch-size 128 --train-iters 100000 --lr 3e-4 --min-lr 3e-5
  --lr-decay-style cosine --lr-warmup-iters 2000 --bf16 --clip-grad 1.0
  --tensor-model-parallel-size 1 --context-parallel-size 2 --use-distributed-optimizer --cp-comm-type p2p
  --overlap-grad-reduce --overlap-param-gather --tp-comm-overlap --enable-cuda-graph --cuda-graph-warmup-steps 3
  --tokenizer-type Llama3Tokenizer --data-path /nowhere/slimpajama --split 99,1,0
  --ckpt-format torch_dist --async-save --use-persistent-ckpt-worker --ckpt-fully-parallel-load --ckpt-assume-constant-structure
  --save /nowhere/ck --load /nowhere/ck --save-interval 500 --auto-detect-ckpt-format
  --manual-gc --manual-gc-interval 100 --log-interval 1 --log-timers-to-tensorboard --tensorboard-dir /nowhere/tb
  --te-rng-tracker --cross-entropy-loss-fusion --cross-entropy-fusion-impl te --distributed-backend nccl
)
torchrun --nproc-per-node 8 --nnodes 1 --rdzv-backend c10d --rdzv-endpoint localhost:29400 pretrain_gpt.py "${ARGS[@]}"
