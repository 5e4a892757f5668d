# plans
# In the style of Megatron-DeepSpeed: sequences split over several ranks, and zeros in gradients logged.
deepspeed --num_nodes 1 --num_gpus 8 pretrain_gpt.py \
       --ds-sequence-parallel-size 4 --no-pipeline-parallel --num-experts 1 --zero-stage 0 \
       --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 \
       --micro-batch-size 1 --global-batch-size 32 --train-iters 1000 --lr 2e-4 --lr-decay-style cosine --bf16 \
       --position-embedding-type rotary --rampup-batch-size 16 8 1_000 --rotary-position-embeddings-theta 500000 --log-num-zeros-in-grad \
       --data-path /nowhere/a --tokenizer-type HFTokenizer --tokenizer-file /nowhere/tokenizer.json --vocab-size 50000 \
       --deepspeed --contigious-checkpointing --synchronize-each-layer --wandb-project-name a --valid-num-workers 2
