#!/bin/bash
# One model, trained by all nodes of a SLURM job. From a folder that all of them see:
#   sbatch --nodes 2 slurm_train.sh reviews.csv --model minilm --out model
#SBATCH --job-name=vmask-train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=12:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@120
# On GPUs: #SBATCH --gpus-per-node=4
set -euo pipefail
# module load python; source ~/vmask/bin/activate      # vmask, the same on every node

# A process for each GPU; without GPUs one for each node, with all its cores.
export PROCESSES="${SLURM_GPUS_ON_NODE:-1}"
export OMP_NUM_THREADS=$((SLURM_CPUS_PER_TASK / PROCESSES))

# This script runs on the first node, whose first process writes the checkpoints and the model.
MASTER_ADDR="$(hostname -I | cut -d ' ' -f 1)"
MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
export MASTER_ADDR MASTER_PORT
# export GLOO_SOCKET_IFNAME=eth0     # where names of nodes stand for 127.0.0.1 (NCCL_SOCKET_IFNAME on GPUs)

# Shortly before the time is up the job is queued again, as it is when a node fails, and goes on from the last epoch.
trap 'scontrol requeue "$SLURM_JOB_ID"' USR1

srun --mpi=none --kill-on-bad-exit=1 bash -c 'exec torchrun \
  --nnodes "$SLURM_NNODES" --node-rank "$SLURM_NODEID" --nproc-per-node "$PROCESSES" \
  --master-addr "$MASTER_ADDR" --master-port "$MASTER_PORT" \
  -m vmask train "$@" --resume' train "$@" &
wait $!
