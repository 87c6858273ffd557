"""Prints the scalars that TensorBoard reads in run folders, as JSON: run, tag, points.

    python scalars.py event_accumulator|plugin_event_accumulator FOLDER...
"""
import importlib
import json
import os
import sys

module = importlib.import_module("tensorboard.backend.event_processing." + sys.argv[1])
plugin = sys.argv[1].startswith("plugin")
everything = {"scalars": 0, "tensors": 0}  # 0: do not sample


def points(run, tag):
    if not plugin:
        return [{"Step": e.step, "Value": e.value} for e in run.Scalars(tag)]
    from tensorboard.util import tensor_util
    return [{"Step": e.step, "Value": tensor_util.make_ndarray(e.tensor_proto).item()} for e in run.Tensors(tag)]


out = {}
for folder in sys.argv[2:]:
    run = module.EventAccumulator(folder, size_guidance=everything)
    run.Reload()
    tags = run.Tags()["tensors" if plugin else "scalars"]
    out[os.path.basename(folder)] = {tag: points(run, tag) for tag in tags}
json.dump(out, sys.stdout)
