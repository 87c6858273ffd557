#!/bin/bash
# Written by saot sweep: an array job with a task for each of the 6 runs that were left to do.
# Time and memory, where the command did not say: 3 and 1.5 times the largest estimates.
#SBATCH --job-name=saot-table2
#SBATCH --array=0-2,5,7-8%4
#SBATCH --output="/shared/the runs/slurm-%A_%a.out"
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:INT@60
#SBATCH --ntasks=1
#SBATCH --time=1-02:01:00
#SBATCH --mem=3072M
#SBATCH --cpus-per-task=8
#SBATCH --gpus-per-task=1
#SBATCH --partition="gpu"
#SBATCH --account="lab 3"
#SBATCH --qos=low

cd -- /home/me || exit 1

stop=
work=
signaled=
interrupt() { [ "$stop" != time ] || [ -z "$work" ] || kill -TERM "$work"; }
trap 'signaled=1; stop=${stop:-time}; interrupt' INT
trap 'signaled=1; stop=ended' TERM

/opt/saot sweep '/shared/the runs/spec-1.yaml' --out '/shared/the runs' --only "$SLURM_ARRAY_TASK_ID" &
work=$!
interrupt # if the signal came before work was known
while true; do
  wait "$work"
  status=$?
  [ "$signaled" ] || break
  signaled=
done

if [ "$stop" = time ] && [ "$status" -eq 130 ]; then
  if [ "${SLURM_RESTART_COUNT:-0}" -lt 10 ]; then
    echo "saot: run $SLURM_ARRAY_TASK_ID was interrupted before its time limit and is queued again"
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
  else
    echo "saot: run $SLURM_ARRAY_TASK_ID was queued again 10 times already:" \
      "the same sweep command launches it"
  fi
fi
exit "$status"
