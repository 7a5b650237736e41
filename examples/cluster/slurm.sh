#!/bin/bash
# A grid on all nodes of a SLURM job. From a folder that they all see:
#   sbatch --nodes 4 slurm.sh experiment.yaml --out results
#SBATCH --job-name=vmask
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --exclusive
#SBATCH --time=12:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@120
set -euo pipefail
# module load python; source ~/vmask/bin/activate      # vmask[ray], the same on every node

# Ray serves nobody without the token, which is made once, in ~/.ray.
export RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0
ray get-auth-token --generate >/dev/null

# This script runs on the first node. Ray's head and `vmask grid` run here, and all results are written here.
host="$(hostname -I | cut -d ' ' -f 1)"
port=$((20000 + SLURM_JOB_ID % 10000))
ray start --head --node-ip-address "$host" --port "$port" --num-cpus "$SLURM_CPUS_PER_TASK"

# The other nodes. Without --mpi=none a training there would take itself for a part of an MPI program.
others=$((SLURM_NNODES - 1))
if ((others)); then
  srun --mpi=none --nodes=$others --ntasks=$others --exclude="$SLURMD_NODENAME" \
    ray start --address "$host:$port" --num-cpus "$SLURM_CPUS_PER_TASK" --block &
fi

# Shortly before the time is up the job is queued again, as it is when a node fails, and goes on where it was.
trap 'scontrol requeue "$SLURM_JOB_ID"' USR1
vmask grid "$@" --engine ray --address "$host:$port" &
wait $!
# SLURM ends Ray on all nodes when this script ends.
