# plans
# A mixture of experts with all of its flags.
torchrun --nproc_per_node=8 --nnodes=2 pretrain_gpt.py \
  --num-layers 48 --hidden-size 2048 --ffn-hidden-size 6144 --num-attention-heads 32 --num-query-groups 4 \
  --group-query-attention --kv-channels 128 --qk-layernorm --normalization RMSNorm --swiglu --disable-bias-linear \
  --position-embedding-type rope --rotary-base 1000000 --untie-embeddings-and-output-weights \
  --seq-length 4096 --max-position-embeddings 40960 --micro-batch-size 1 --global-batch-size 256 --train-iters 1000 \
  --lr 1e-4 --bf16 --num-experts 128 --moe-ffn-hidden-size 768 --moe-router-topk 8 --moe-grouped-gemm \
  --moe-token-dispatcher-type alltoall --moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 1e-3 \
  --moe-permute-fusion --moe-router-dtype fp32 --expert-model-parallel-size 8 --expert-tensor-parallel-size 1 \
  --pipeline-model-parallel-size 2 --use-distributed-optimizer \
  --tokenizer-type HuggingFaceTokenizer --tokenizer-model Qwen/Qwen3-30B-A3B --data-path /nowhere/data
