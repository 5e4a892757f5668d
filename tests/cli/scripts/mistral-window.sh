# plans
# Mistral 7B with its window, started by mpirun.
mpirun -np 8 python pretrain_gpt.py \
  --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention \
  --num-query-groups 8 --window-size 4095,0 --position-embedding-type rope --normalization RMSNorm --swiglu \
  --disable-bias-linear --untie-embeddings-and-output-weights --seq-length 8192 --max-position-embeddings 32768 \
  --micro-batch-size 1 --global-batch-size 64 --train-iters 1000 --lr 1e-5 --bf16 --attention-backend flash \
  --tokenizer-type HuggingFaceTokenizer --tokenizer-model mistralai/Mistral-7B-v0.1 --data-path /nowhere/data \
  --tensor-model-parallel-size 8 --sequence-parallel --moe-router-topk 2
