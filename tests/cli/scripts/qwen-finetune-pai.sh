# refused: --max-padding-length, --train-mode, --dataset, --epochs, --sft --train-data, --valid-data: --cpu-offloading, --optimizer-offload-policy: --optimizer-cpu-offload
# In the manner of Pai-Megatron-Patch: a program for each model, and chats as text.
torchrun --nproc_per_node 8 --nnodes 1 pretrain_qwen.py \
  --num-layers 24 --hidden-size 896 --ffn-hidden-size 4864 --num-attention-heads 14 --group-query-attention \
  --num-query-groups 2 --seq-length 128 --max-position-embeddings 32768 --micro-batch-size 1 --global-batch-size 8 \
  --train-iters 100 --lr 1e-5 --min-lr 1e-6 --bf16 --swiglu --normalization RMSNorm --disable-bias-linear --add-qkv-bias \
  --position-embedding-type rope --rotary-base 1000000 --vocab-size 151936 --tokenizer-type HuggingFaceTokenizer \
  --max-padding-length 128 --train-mode finetune --dataset JSON-SFT --epochs 2 --train-data /nowhere/a.json \
  --valid-data /nowhere/b.json --cpu-offloading --optimizer-offload-policy static --keep-last \
  --rotary-scale-factor 1 --qk-nope-head-dim 64
