# plans
# The smallest run: mock data and no tokenizer.
torchrun --nproc_per_node=1 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 32 \
  --max-position-embeddings 32 --micro-batch-size 2 --train-iters 3 --lr 1e-3 --mock-data --tokenizer-type NullTokenizer \
  --vocab-size 128 --transformer-impl local --no-persist-layer-norm --no-gradient-accumulation-fusion --split '"99,1,0"' \
  --attention-dropout 0 --hidden-dropout 0 --eval-iters 1
