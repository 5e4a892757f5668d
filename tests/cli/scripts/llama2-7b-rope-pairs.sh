# plans
# Llama 2 7B as in most public scripts, with both --no-position-embedding and rope.
TP=2 PP=2
MODEL="--num-layers 32 --hidden-size 4096 --ffn-hidden-size 11008 --num-attention-heads 32 --seq-length 4096
  --max-position-embeddings 4096 --use-rotary-position-embeddings --no-position-embedding --swiglu
  --normalization RMSNorm --norm-epsilon 1e-5 --disable-bias-linear --untie-embeddings-and-output-weights"
torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py $MODEL \
  --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP --sequence-parallel \
  --use-distributed-optimizer --overlap-grad-reduce --use-flash-attn --recompute-activations \
  --micro-batch-size 1 --global-batch-size 256 --lr 3e-4 --min-lr 3e-5 --lr-decay-style cosine \
  --lr-warmup-iters 2000 --train-iters 250000 --weight-decay 0.1 --adam-beta1 0.9 --adam-beta2 0.95 \
  --clip-grad 1.0 --bf16 --attention-dropout 0 --hidden-dropout 0 --no-query-key-layer-scaling \
  --attention-softmax-in-fp32 --no-masked-softmax-fusion \
  --tokenizer-type Llama2Tokenizer --tokenizer-model /nowhere/tokenizer.model --data-path /nowhere/redpajama \
  --exit-signal-handler --distributed-timeout-minutes 30 --num-workers 4 \
  --wandb-project llama --wandb-exp-name 7b --timing-log-level 2 --log-throughput
