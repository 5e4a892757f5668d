# refused: --use-bnb-optimizer
# In the style of BigScience: ALiBi, a norm after the embedding, and flags that no Megatron release has.
deepspeed --num_nodes 4 --num_gpus 8 pretrain_gpt.py \
  --tensor-model-parallel-size 1 --pipeline-model-parallel-size 2 --num-layers 30 --hidden-size 4096 \
  --num-attention-heads 32 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 512 \
  --train-iters 100000 --lr 1.2e-4 --min-lr 6e-6 --lr-decay-style cosine --adam-beta2 0.95 --bf16 \
  --position-embedding-type alibi --embed-layernorm --pad-vocab-size-to 250880 --init-method-std 0.0048 \
  --clip-grad 1.0 --weight-decay 1e-1 --seed 42 --checkpoint-activations --kill-switch-path /nowhere/stop \
  --tokenizer-type HuggingFaceTokenizer --tokenizer-model bigscience/tokenizer --vocab-size 250680 --codecarbon-dir /nowhere/cc --use-bnb-optimizer \
  --data-path /nowhere/roots
