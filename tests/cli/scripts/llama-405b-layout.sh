# refused: --pipeline-model-parallel-layout
# 126 layers on 16 stages. The answer names the flag that distributes them.
torchrun --nproc_per_node 8 --nnodes 32 pretrain_gpt.py \
  --num-layers 126 --hidden-size 16384 --ffn-hidden-size 53248 --num-attention-heads 128 --group-query-attention \
  --num-query-groups 8 --position-embedding-type rope --normalization RMSNorm --swiglu --disable-bias-linear \
  --untie-embeddings-and-output-weights --seq-length 8192 --max-position-embeddings 8192 --micro-batch-size 1 \
  --global-batch-size 2048 --train-iters 1000 --lr 8e-5 --bf16 --tensor-model-parallel-size 8 \
  --pipeline-model-parallel-size 16 --sequence-parallel --use-distributed-optimizer --tokenizer-type Llama3Tokenizer \
  --data-path /nowhere/data
