#!/bin/bash
#SBATCH --job-name=small
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --time=24:00:00
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log
#SBATCH --signal=B:USR2@120
#SBATCH --partition=night

set -u
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
# Each signal to this script goes on to the ranks; a second wait takes the code that they leave with.
trap 'kill -USR2 "$step"' USR2
trap 'kill -TERM "$step"' TERM
srun --kill-on-bad-exit=1 --container-image=registry/megalith:1 --container-mounts=data:/data megalith launch --run-id "$SLURM_JOB_ID" \
  --rdzv-endpoint "$head:29500" --nproc-per-node 4 -- \
  pretrain-gpt --data-path 'a b'\''c"d\$HOME' --lr 1e-4 &
step=$!
wait "$step"
code=$?
while kill -0 "$step" 2> /dev/null; do
  wait "$step"
  code=$?
done
if [ "$code" -eq 85 ]; then
  scontrol requeue "$SLURM_JOB_ID"
  exit 0
fi
exit "$code"
