# plans
# Continued pretraining of Qwen 2.5 7B.
QWEN="--num-layers 28 --hidden-size 3584 --ffn-hidden-size 18944 --num-attention-heads 28 --group-query-attention
 --num-query-groups 4 --kv-channels 128 --add-qkv-bias --disable-bias-linear --normalization RMSNorm --norm-epsilon 1e-6
 --swiglu --position-embedding-type rope --rotary-base 1000000 --untie-embeddings-and-output-weights --no-rope-fusion"
torchrun --nproc_per_node=4 pretrain_gpt.py $QWEN --tensor-model-parallel-size 4 --sequence-parallel \
  --seq-length 4096 --max-position-embeddings 32768 --micro-batch-size 1 --global-batch-size 64 --train-iters 2000 \
  --lr 1e-5 --min-lr 1e-6 --lr-decay-style cosine --bf16 --use-distributed-optimizer \
  --tokenizer-type HuggingFaceTokenizer --tokenizer-model Qwen/Qwen2.5-7B --trust-remote-code \
  --padded-vocab-size 152064 --make-vocab-size-divisible-by 1 --data-path /nowhere/code \
  --save /nowhere/qwen --save-interval 1000 --load /nowhere/qwen --no-load-optim --no-load-rng --use-checkpoint-args --dist-ckpt-strictness log_all
