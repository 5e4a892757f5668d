"""What W&B's own writer (wandb 0.19.11, the last with a writer in Python) makes of the runs of tests/observe/wandb_file_test.cpp:
    python make_wandb.py > vectors/wandb.json"""
import hashlib
import json
import os
import tempfile

import wandb
from wandb.proto import wandb_internal_pb2 as pb
from wandb.sdk.internal.datastore import DataStore

wandb._set_internal_process()


def write(records):
    path = os.path.join(tempfile.mkdtemp(), "run.wandb")
    store = DataStore()
    store.open_for_write(path)
    for number, record in enumerate(records, 1):
        record.num = number
        store._write_data(record.SerializeToString(deterministic=True))
    store._fp.flush()
    return open(path, "rb").read()


def header():
    r = pb.Record()
    r.header.version_info.producer = "megalith"
    r.header.version_info.min_consumer = "0.70.0"
    return r


def history(step, items):
    r = pb.Record()
    for key, value in items:
        item = r.history.item.add()
        item.nested_key.append(key)
        item.value_json = value
    r.history.step.num = step
    return r


def small():
    run = pb.Record()
    run.run.run_id, run.run.entity, run.run.project = "mgl00001", "me", "megalith"
    for key, value in (("num_layers", "12"), ("lr", "0.001")):
        item = run.run.config.update.add()
        item.key, item.value_json = key, value
    run.run.run_group, run.run.display_name, run.run.host = "g", "demo", "host"
    run.run.tags.extend(["a", "b"])
    run.run.starting_step = 300
    run.run.start_time.seconds, run.run.start_time.nanos = 1700000000, 500000000
    summary = pb.Record()
    item = summary.summary.update.add()
    item.nested_key.append("lm loss")
    item.value_json = "Infinity"
    end = pb.Record()
    end.exit.runtime = 12
    return [header(), run, history(301, [("lm loss", "2.5"), ("grad-norm", "NaN"), ("_step", "301")]), summary, end]


# Records that end at every place around the end of a block.
edges = [header()] + [history(i + 1, [("x", '"' + "a" * (32700 + i) + '"')]) for i in range(80)]
print(json.dumps({"small": write(small()).hex(), "edges": hashlib.md5(write(edges)).hexdigest()}, indent=1))
