# refused: --patch-tokenizer-type --extra-vocab-size --dataset --max-padding-length
# In the style of Pai-Megatron-Patch, with flags that only it has.
torchrun --nproc_per_node 8 pretrain_gpt.py \
  --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --ffn-hidden-size 11008 --seq-length 2048 \
  --max-position-embeddings 2048 --max-padding-length 2048 --n-head-kv 8 --position-embedding-type rope \
  --swiglu --normalization RMSNorm --untie-embeddings-and-output-weights --disable-bias-linear \
  --micro-batch-size 1 --global-batch-size 16 --train-iters 1000 --lr 1e-5 --bf16 \
  --dataset LLama-Pretrain-Idxmap --data-path /nowhere/data --load /nowhere/Llama-2-7b-hf-to-mcore --no-load-optim --no-load-rng \
  --patch-tokenizer-type LLamaTokenizer --extra-vocab-size 0 --extra-vocab-size 16
