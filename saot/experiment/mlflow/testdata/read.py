"""Prints what MLflow's own client reads from a store: read.py FOLDER."""

import json
import os
import sys

os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # the store of files is in maintenance mode
from mlflow.tracking import MlflowClient

client = MlflowClient("file://" + sys.argv[1])
out = []
for experiment in client.search_experiments():
    for run in client.search_runs([experiment.experiment_id]):
        out.append({
            "experiment": experiment.name,
            "name": run.info.run_name,
            "id": run.info.run_id,
            "status": run.info.status,
            "params": dict(run.data.params),
            "metrics": dict(run.data.metrics),
            "history": {name: [[m.step, m.value] for m in client.get_metric_history(run.info.run_id, name)]
                        for name in run.data.metrics},
            "artifacts": sorted(a.path for a in client.list_artifacts(run.info.run_id)),
            "tags": dict(run.data.tags),
        })
print(json.dumps(out))
