# plans
# Multi-head latent attention and mixtures of experts.
torchrun --nproc_per_node 8 pretrain_gpt.py \
  --num-layers 27 --hidden-size 2048 --ffn-hidden-size 10944 --num-attention-heads 16 --kv-channels 16 \
  --multi-latent-attention --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 \
  --num-experts 64 --moe-layer-freq "([0]+[1]*26)" --moe-router-topk 6 --moe-shared-expert-intermediate-size 2816 \
  --mtp-num-layers 1 --mtp-loss-scaling-factor 0.1 \
  --normalization RMSNorm --swiglu --disable-bias-linear --position-embedding-type rope --qk-layernorm \
  --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 --train-iters 100 \
  --lr 1e-4 --bf16 --tokenizer-type HuggingFaceTokenizer --tokenizer-model deepseek-ai/DeepSeek-V2-Lite --vocab-size 102400 \
  --data-path /nowhere/data
