# plans
# In the style of Megatron-LM 2.x: GPT-2 345M on a node, started by torch.distributed.launch.
GPUS=8
CHECKPOINT=/nowhere/checkpoints/gpt2-345m
LAUNCH="--nproc_per_node $GPUS --nnodes 1 --node_rank 0 --master_addr localhost --master_port 6000"
python -m torch.distributed.launch $LAUNCH \
       pretrain_gpt.py \
       --num-layers 24 --hidden-size 1024 --num-attention-heads 16 \
       --micro-batch-size 8 --global-batch-size 64 \
       --seq-length 1024 --max-position-embeddings 1024 \
       --train-iters 500000 --lr-decay-iters 320000 \
       --save $CHECKPOINT --load $CHECKPOINT \
       --data-path /nowhere/my-gpt2_text_document \
       --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt \
       --data-impl mmap --split 949,50,1 \
       --distributed-backend nccl \
       --lr 0.00015 --lr-decay-style cosine --min-lr 1.0e-5 \
       --weight-decay 1e-2 --clip-grad 1.0 --lr-warmup-fraction .01 \
       --activations-checkpoint-method uniform \
       --log-interval 100 --save-interval 10000 --eval-interval 1000 --eval-iters 10
