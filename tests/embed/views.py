"""views.py: views of a session's tensors, taken by DLPack's consumers that are here. Prints those that it tried."""
import gc
import sys

import megalith
from megalith import views

FLAGS = ("--device cpu --num-layers 1 --hidden-size 16 --num-attention-heads 2 --seq-length 8 --micro-batch-size 2 "
         "--train-iters 20 --vocab-size 24 --lr 0.1 --lr-decay-style constant --optimizer sgd --sgd-momentum 0 "
         "--weight-decay 0 --clip-grad 0 --untie-embeddings-and-output-weights --log-num-zeros-in-grad").split()
NAME = "decoder.final_layernorm.weight"


def fill(batch):
    for sample, tokens, labels in batch.rows():
        for t in range(len(tokens)):
            tokens[t], labels[t] = (sample + t) % 24, (sample + t + 1) % 24
    batch.loss_mask[0] = 0


def consumers():
    for module in ("numpy", "torch"):
        try:
            yield module, __import__(module).from_dlpack
        except (ImportError, AttributeError):
            pass


def check(session, from_dlpack, writes):
    weights, address = from_dlpack(session.view(NAME)), session.view(NAME)._data
    at = weights.data_ptr() if hasattr(weights, "data_ptr") else weights.__array_interface__["data"][0]
    assert at == address and tuple(weights.shape) == (16,), "a copy"
    before, step = session.read(NAME).tolist(), session.step()
    assert step.tokens == 15 and step.seconds > 0, step
    assert weights.tolist() == session.read(NAME).tolist() != before, "a step is not seen"
    gradient = from_dlpack(session.gradient_sum(NAME))
    for sum_, mean, was, now in zip(gradient.tolist(), session.gradient(NAME).tolist(), before, weights.tolist()):
        assert abs(sum_ / step.tokens - mean) < 1e-6 and abs(was - 0.1 * mean - now) < 1e-6, (sum_, mean, was, now)
    table = from_dlpack(session.view("embedding.word_embeddings.weight"))
    assert tuple(table.shape) == (24, 16), table.shape
    assert table.reshape(-1).tolist() == session.read("embedding.word_embeddings.weight").tolist()
    if writes:
        weights[3] = 0.5
        assert session.read(NAME).tolist()[3] == 0.5, "a write is not seen"
    return weights


for name, from_dlpack in consumers():
    session = megalith.Session(megalith.Config(FLAGS), fill)
    weights = check(session, from_dlpack, name == "torch")
    session.close()
    gc.collect()
    assert len(weights.tolist()) == 16  # the memory lives on
    del weights
    gc.collect()
    assert not views._lent, views._lent
    print(name)

session = megalith.Session(megalith.Config(FLAGS), fill)
for name, kind in ((NAME, session.gradient_sum), ("nothing", session.view)):
    try:
        kind(name)
        sys.exit(f"a view of {name} was given")
    except megalith.Failed as e:
        assert name in str(e), e
view = session.view(NAME)
view.__dlpack__()  # nobody takes it
assert view.__dlpack_device__() == (1, 0) and not views._lent
try:
    view.__dlpack__(copy=True)
    sys.exit("a copy was given")
except BufferError:
    pass
half = megalith.Session(megalith.Config(FLAGS + ["--bf16"]), fill)
try:
    half.view(NAME)
    sys.exit("a view of what has a copy in bf16 was given")
except megalith.Failed as e:
    assert "precision" in str(e), e
print("plain")
