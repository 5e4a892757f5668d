# plans
# GPT-2 345M in fp16, with the flags of Megatron-LM 1.x.
torchrun --nproc_per_node=2 pretrain_gpt.py \
       --model-parallel-size 2 --num-layers 24 --hidden-size 1024 --num-attention-heads 16 \
       --batch-size 4 --seq-length 1024 --max-position-embeddings 1024 --train-iters 320000 \
       --data-path /nowhere/text --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt \
       --distributed-backend nccl --DDP-impl torch --lr 1.5e-4 --lr-decay-style cosine --warmup .01 \
       --checkpoint-activations --fp16 --loss-scale 0 --hysteresis 2 --fp32-allreduce
