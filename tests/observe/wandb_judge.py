"""Reads a W&B offline run with W&B's own code, and compares it with what the run wrote.

    wandb_judge.py RUN_DIR WANTED.json

WANTED.json has `config` (name: value), `rows` (one object for each history row) and `summary`.
1. W&B's protobuf reads each record of the file.
2. `wandb sync` uploads the run to a server on this host. The server must receive the same rows, config and summary,
   and the end of the run.
3. The file is cut inside a record. `wandb sync` must upload all rows before the cut.
Exit status 0: all are equal. 77: wandb is not installed. Otherwise the last line says what differs.
"""
import gzip
import http.server
import json
import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import threading
import zlib

BLOCK, HEADER = 32768, 7


def read_records(data):
    """The whole records, each with the byte at its end. The format is LevelDB's log, whose checksum is CRC-32 here."""
    magic, number, version = struct.unpack_from("<4sHB", data)
    assert (magic, number, version) == (b":W&B", 0xBEE1, 0), "wrong header of the file"
    at, parts, records = 7, b"", []
    while at + HEADER <= len(data):
        if BLOCK - at % BLOCK < HEADER:
            at += BLOCK - at % BLOCK
            continue
        crc, length, kind = struct.unpack_from("<IHB", data, at)
        part = data[at + HEADER:at + HEADER + length]
        if len(part) < length:
            break
        assert zlib.crc32(part, zlib.crc32(bytes([kind]))) == crc, f"wrong checksum at byte {at}"
        parts = part if kind in (1, 2) else parts + part
        if kind in (1, 4):
            records.append((parts, at + HEADER + length))
        at += HEADER + length
    return records


def same(a, b):
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    return a == b


def number(value):
    """W&B uploads numbers that are not finite as text."""
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value


def compare(what, wanted, got):
    for name, value in wanted.items():
        assert name in got, f"{what}: {name} is missing"
        assert same(value, number(got[name])), f"{what}: {name} is {got[name]!r}, not {value!r}"


def compare_rows(what, wanted, got):
    assert len(got) == len(wanted), f"{what}: {len(got)} rows, not {len(wanted)}"
    for want, row in zip(wanted, got):
        compare(f"{what}: row {want['_step']}", want, row)
        more = set(row) - set(want) - {"_timestamp", "_runtime"}
        assert not more, f"{what}: row {want['_step']} also has {more}"
        assert row["_timestamp"] > 0 and row["_runtime"] > 0, f"{what}: times of row {want['_step']}"


def items(message):
    return {"/".join(i.nested_key) or i.key: json.loads(i.value_json) for i in message}


def check_file(path, wanted, Record):
    """Returns the number of records, and a byte inside the record of the middle row."""
    raw = read_records(path.read_bytes())
    records = [Record.FromString(r) for r, _ in raw]
    kinds = [r.WhichOneof("record_type") for r in records]
    assert kinds[:2] == ["header", "run"] and kinds[-1] == "exit", f"records: {kinds}"
    assert [r.num for r in records] == list(range(1, len(records) + 1)), "record numbers"
    compare("config", wanted["config"], {i.key: json.loads(i.value_json) for i in records[1].run.config.update})
    compare_rows("file", wanted["rows"], [items(r.history.item) for r in records if r.HasField("history")])
    compare("file: summary", wanted["summary"], items([r for r in records if r.HasField("summary")][-1].summary.update))
    rows = [end for record, (_, end) in zip(records, raw) if record.HasField("history")]
    return len(records), rows[len(rows) // 2] - 3


class Server(http.server.ThreadingHTTPServer):
    """Answers `wandb sync`, and keeps what it uploads."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.history, self.summary, self.config, self.exit_code, self.complete = [], {}, {}, None, False

    def graphql(self, body):
        query, variables = body["query"], body.get("variables") or {}
        entity = {"name": "me"}
        if "upsertBucket" in query:
            if variables.get("config"):
                self.config = json.loads(variables["config"])
            bucket = {"id": "x", "name": variables.get("name") or "x", "displayName": "x", "sweepName": None,
                      "historyLineCount": 0, "project": {"id": "p", "name": "p", "entity": {"id": "e", **entity}}}
            return {"upsertBucket": {"bucket": bucket, "inserted": True}}
        if "createRunFiles" in query:
            return {"createRunFiles": {"runID": "x", "uploadHeaders": [], "files": []}}
        if "viewer" in query:
            return {"viewer": {"id": "v", "entity": "me", "username": "me", "flags": "{}",
                               "teams": {"edges": [{"node": entity}]}}}
        return {}

    def stream(self, body):
        for name, file in (body.get("files") or {}).items():
            lines = [json.loads(line) for line in file["content"]]
            if name == "wandb-history.jsonl":
                self.history[file["offset"]:] = lines
            elif name == "wandb-summary.json":
                self.summary = lines[-1]
        self.complete |= bool(body.get("complete"))
        self.exit_code = body.get("exitcode", self.exit_code)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        answer = {}
        if self.path.endswith("/file_stream"):
            self.server.stream(json.loads(body))
            answer = {"exitcode": None, "limits": {}}
        elif self.path.endswith("/graphql"):
            answer = {"data": self.server.graphql(json.loads(body))}
        self.say(answer)

    def do_GET(self):
        self.say({})

    def do_PUT(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.say({})

    def say(self, answer):
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def upload(run):
    """What `wandb sync` said, its exit status, and the server with what arrived."""
    server = Server()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = f"http://127.0.0.1:{server.server_port}"
    kept = {k: v for k, v in os.environ.items() if not k.startswith("WANDB_") and not k.lower().endswith("_proxy")}
    ran = subprocess.run(
        [sys.executable, "-m", "wandb", "sync", str(run)], capture_output=True, text=True, timeout=240, cwd=run,
        env={**kept, "WANDB_BASE_URL": here, "WANDB_API_KEY": "0" * 40, "WANDB_ERROR_REPORTING": "false",
             "HOME": str(run), "WANDB_CONFIG_DIR": str(run), "WANDB_CACHE_DIR": str(run)})
    server.shutdown()
    return ran.stdout + ran.stderr, ran.returncode, server


def check_sync(run, wanted):
    said, status, server = upload(run)
    assert status == 0, f"wandb sync ended with {status}: {said}"
    compare_rows("upload", wanted["rows"], server.history)
    compare("upload: config", wanted["config"], {k: v.get("value") for k, v in server.config.items() if k != "_wandb"})
    compare("upload: summary", wanted["summary"], server.summary)
    assert (server.exit_code, server.complete) == (0, True), f"end: {server.exit_code}, {server.complete}"


def check_cut(run, wanted, at):
    cut = run.with_name(run.name + "-cut")
    shutil.copytree(run, cut, ignore=lambda _, names: [n for n in names if n.endswith(".synced")])
    file = next(cut.glob("run-*.wandb"))
    file.write_bytes(file.read_bytes()[:at])
    _, _, server = upload(cut)
    compare_rows("upload of the cut file", wanted["rows"][:len(wanted["rows"]) // 2], server.history)


def main():
    try:
        from wandb.proto.wandb_internal_pb2 import Record
    except ImportError as e:
        print(e)
        return 77
    run, wanted = pathlib.Path(sys.argv[1]).resolve(), json.loads(pathlib.Path(sys.argv[2]).read_text())
    count, middle = check_file(next(run.glob("run-*.wandb")), wanted, Record)
    check_sync(run, wanted)
    check_cut(run, wanted, middle)
    print(f"{count} records, {len(wanted['rows'])} rows, {len(wanted['config'])} settings are equal")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AssertionError as e:
        print(e)
        sys.exit(1)
