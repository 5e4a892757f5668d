# refused: --deepspeed_config --zero-stage
# In the style of Megatron-DeepSpeed: its engine with ZeRO.
deepspeed --num_nodes 2 --num_gpus 8 pretrain_gpt.py \
       --tensor-model-parallel-size 4 --no-pipeline-parallel \
       --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 --max-position-embeddings 2048 \
       --micro-batch-size 4 --global-batch-size 512 --train-samples 25000000 --lr-decay-samples 24000000 \
       --lr-warmup-samples 300000 --lr 1.2e-4 --min-lr 1e-5 --lr-decay-style cosine --weight-decay 0.1 \
       --adam-beta1 0.9 --adam-beta2 0.95 --clip-grad 1.0 --bf16 --use-flash-attn-v2 \
       --data-path 0.6 /nowhere/a 0.4 /nowhere/b --data-impl mmap --split 98,2,0 \
       --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt \
       --save /nowhere/ck --load /nowhere/ck --save-interval 1000 --log-interval 10 \
       --deepspeed --deepspeed_config ds_config.json --zero-stage 1 --deepspeed-activation-checkpointing
