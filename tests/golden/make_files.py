"""Makes small files of vectors/ by the rules of their formats: make_files.py, with a Python that has torch and safetensors.

They are a safetensors file (by the package), Megatron's order of a fused weight's rows, and a TensorBoard file. The latter
is written byte by byte, in the wire format of protocol buffers."""
import json
import pathlib
import struct

import torch
from safetensors.torch import save_file

VECTORS = pathlib.Path(__file__).parent / "vectors"
NAMES = {torch.int64: "I64", torch.float32: "F32", torch.bfloat16: "BF16", torch.uint8: "U8"}


def write(name, value):
    (VECTORS / name).write_text(json.dumps(value, separators=(",", ":")) + "\n")


def safetensors():
    tensors = {"a.weight": torch.tensor([[1, -2], [0.5, 3]], dtype=torch.bfloat16),
               "b.float": torch.arange(6, dtype=torch.float32).reshape(2, 3) / 4, "bytes": torch.tensor([1, 255, 7], dtype=torch.uint8),
               "empty": torch.zeros(0, 4, dtype=torch.bfloat16), "ids": torch.tensor([2, -1, 1 << 40]), "scalar": torch.tensor(-1.25)}
    save_file(tensors, VECTORS / "tiny.safetensors", metadata={"format": "pt"})
    hex_of = lambda t: t.reshape(-1).view(torch.uint8).numpy().tobytes().hex() if t.numel() else ""
    write("tiny.safetensors.json", {name: dict(dtype=NAMES[t.dtype], shape=list(t.shape), hex=hex_of(t))
                                    for name, t in tensors.items()})


def fused_rows():
    """Rows of [q of all heads, k of all groups, v of all groups] in Megatron's order: of each group its heads' q, k, v."""
    out = []
    for heads, groups, dim in ((4, 2, 2), (6, 3, 2), (4, 1, 3), (3, 3, 1)):
        each, order = heads // groups, []
        for g in range(groups):
            blocks = [*range(g * each, (g + 1) * each), heads + g, heads + groups + g]
            order += [block * dim + row for block in blocks for row in range(dim)]
        out.append(dict(heads=heads, groups=groups, head_dim=dim, permutation=order))
    write("qkv_interleave.json", out)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    """A field of a message: bytes and texts by their length, whole numbers as varints, floats as they are packed."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def event(time, step, what):
    return field(1, time) + (field(2, step) if step else b"") + what


def summary(tag, value):
    return field(5, field(1, field(1, tag) + value))


def scalar(x):
    return varint(2 << 3 | 5) + struct.pack("<f", x)


def tensorboard():
    version = field(3, "brain.Event:2") + field(10, field(1, "tensorboard.summary.writer.event_file_writer"))
    tensor = field(1, 7) + field(2, field(2, field(1, 1))) + field(8, "1024")  # a text, one element
    text = field(8, tensor)
    plugin = field(9, field(1, field(1, "text")))
    numbers = [field(i + 1, x) for i, x in enumerate((-1.0, 2.0, 3.0, 1.5, 5.25))]
    packed = lambda *xs: struct.pack(f"<{len(xs)}d", *xs)
    histogram = field(5, b"".join(numbers) + field(6, packed(0, 1, 2)) + field(7, packed(1, 1, 1)))
    at = 1700000000
    events = [event(at + 0.5, 0, version),
              event(at + 0.75, 0, summary("seq_length/text_summary", text + plugin)),
              event(at + 1.5, 1, summary("lm loss", scalar(10.5))),
              event(at + 1.5, 256, summary("lm loss vs samples", scalar(10.5))),
              event(at + 1.5, 0, summary("learning-rate", scalar(0.0))),
              event(at + 2.5, 300, summary("grad-norm", scalar(0.1))),
              event(at + 3.5, 3000000000, summary("loss-scale", scalar(float("nan")))),
              event(at + 4.5, 5, summary("w", histogram))]
    data = b""
    for e in events:
        length = struct.pack("<Q", len(e))
        data += length + struct.pack("<I", masked(length)) + e + struct.pack("<I", masked(e))
    (VECTORS / "events.out.tfevents.1700000000.testhost.4242.0").write_bytes(data)
    texts = [b"", b"a", b"123456789", bytes(32), b"\xff" * 32, bytes(range(32)), bytes(range(255, -1, -1))]
    write("tensorboard.json", dict(crc32c=[dict(hex=t.hex(), crc=crc32c(t), masked=masked(t)) for t in texts]))


if __name__ == "__main__":
    VECTORS.mkdir(exist_ok=True)
    safetensors()
    fused_rows()
    tensorboard()
