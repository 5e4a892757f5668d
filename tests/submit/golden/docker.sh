#!/bin/sh
exec docker run --rm --init --gpus all --ipc host --ulimit memlock=-1 --stop-timeout 120 \
  --name small \
  --volume data:/data \
  registry/megalith:1 megalith launch --standalone --nproc-per-node 4 -- \
  pretrain-gpt --data-path 'a b'\''c"d\$HOME' --lr 1e-4
