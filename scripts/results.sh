#!/usr/bin/env bash
# Runs datasets × methods × seeds one after the other into a folder, and makes its tables.
#
#   scripts/results.sh FOLDER [flags of saot run ...]
#
# DATASETS, METHODS and SEEDS narrow what is run; SAOT_DATA names the folder of the datasets' files. Finished runs are
# passed over and interrupted ones continued, so the script may be stopped and started again at any time. The tables
# stand in FOLDER/table.md, what each run printed in FOLDER/<dataset>-<method>-s<seed>.txt.
set -euo pipefail

folder=${1:?usage: scripts/results.sh FOLDER [flags of saot run ...]}
shift
datasets=${DATASETS:-"cora-ml uai amazon-computers coauthor-cs"}
methods=${METHODS:-"majority features propagated propagated-random propagated-pca random random-calibrated
  saot saot-no-distill saot-cosine saot-mse saot-barlow"}
seeds=${SEEDS:-"0 1 2"}

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cd "$(dirname "$0")/.."
saot=$(mktemp -d)/saot
trap 'rm -rf "$(dirname "$saot")"' EXIT
go build -o "$saot" ./cmd/saot

failed=0
for dataset in $datasets; do
  for method in $methods; do
    for seed in $seeds; do
      name=$dataset-$method-s$seed
      run=$folder/$name
      if [[ -e $run/result.json ]]; then
        continue
      fi
      echo "$(date +%T) $name"
      if [[ -e $run/config.json ]]; then
        arguments=(--resume "$run")
      else
        arguments=(--dataset "$dataset" --method "$method" --seed "$seed" --out "$run" "$@")
      fi
      status=0
      "$saot" run "${arguments[@]}" >"$run.txt" 2>"$run.err" || status=$?
      if ((status == 130)); then
        exit 130
      elif ((status != 0)); then
        echo "  failed: $(tail -n 1 "$run.err")" >&2
        failed=1
      fi
    done
  done
done
"$saot" table "$folder" >"$folder/table.md"
echo "$folder/table.md"
exit $failed
