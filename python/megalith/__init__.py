"""Megalith trains large language models step by step, in your loop. This module uses libmegalith's C interface.

    config = megalith.Config(["--num-layers", "2", ...])     # the flags of `megalith pretrain-gpt`
    with megalith.Session(config, fill) as session:          # fill(batch) writes batch.tokens and batch.labels
        print(session.step().loss)
        session.save("out")

A failed call raises megalith.Failed. Arrays are memoryviews of f32 and i32; numpy.asarray and torch.frombuffer accept
them. torch.from_dlpack and numpy.from_dlpack accept views of tensors. A session holds Python's lock only while it calls
`fill`.
"""

import array
import ctypes
from pathlib import Path
from typing import Callable, NamedTuple

from .views import View
__all__ = ["Batch", "Config", "Failed", "Session", "Step", "Tensor", "View", "version"]


class Failed(RuntimeError):
    """One line: what is wrong, and what to do."""


class _CBatch(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("first_sample", ctypes.c_int64), ("sequences", ctypes.c_int64),
                ("seq_length", ctypes.c_int64), ("tokens", ctypes.c_void_p), ("labels", ctypes.c_void_p),
                ("loss_mask", ctypes.c_void_p), ("position_ids", ctypes.c_void_p)]


class _COptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("log", ctypes.c_void_p), ("log_user", ctypes.c_void_p),
                ("rank", ctypes.c_int32), ("world_size", ctypes.c_int32), ("local_rank", ctypes.c_int32),
                ("master_port", ctypes.c_int32), ("master_address", ctypes.c_char_p)]


class _CStep(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("iteration", ctypes.c_int64), ("consumed_samples", ctypes.c_int64),
                ("loss", ctypes.c_double), ("grad_norm", ctypes.c_double), ("counted", ctypes.c_int64),
                ("tokens", ctypes.c_double), ("seconds", ctypes.c_double)]


class _CTensor(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("elements", ctypes.c_int64),
                ("ndim", ctypes.c_int64), ("shape", ctypes.c_int64 * 8), ("is_weight", ctypes.c_int64)]


class _CView(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("data", ctypes.c_void_p), ("ndim", ctypes.c_int64),
                ("shape", ctypes.c_int64 * 8), ("type", ctypes.c_int32), ("is_writable", ctypes.c_int32)]


_Fill = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_CBatch))
_Log = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)


def _library():
    own = Path(__file__).parent / "lib" / "libmegalith.so.0"  # in a wheel
    lib = ctypes.CDLL(str(own) if own.exists() else "libmegalith.so.0")
    lib.mgl_version.restype = lib.mgl_last_error.restype = ctypes.c_char_p
    return lib


_lib = _library()


def _must(status):
    if status != 0:
        raise Failed(_lib.mgl_last_error().decode())


def version():
    return _lib.mgl_version().decode()


class Config:
    """Flags of `megalith pretrain-gpt`, as words or by name: Config(words, num_layers=2, bf16=True)."""

    def __init__(self, words=(), **flags):
        self._it = ctypes.c_void_p()
        _must(_lib.mgl_config_new(ctypes.byref(self._it)))
        for word in words:
            one = (ctypes.c_char_p * 1)(str(word).encode())
            _must(_lib.mgl_config_parse(self._it, 1, one))
        for name, value in flags.items():
            self.set(name.replace("_", "-"), value)

    def set(self, name, value=True):
        """A switch takes True. Returns the config."""
        given = None if value is True else str(value).encode()
        _must(_lib.mgl_config_set(self._it, name.encode(), given))
        return self

    def __del__(self):
        if getattr(self, "_it", None):
            _lib.mgl_config_free(self._it)


class Batch:
    """A micro-batch to fill. tokens, labels, loss_mask, position_ids: sequences x seq_length numbers each, row-major."""

    def __init__(self, c):
        self.first_sample, self.sequences, self.seq_length = c.first_sample, c.sequences, c.seq_length
        for name, kind in (("tokens", "i"), ("labels", "i"), ("loss_mask", "f"), ("position_ids", "i")):
            bytes_ = (ctypes.c_char * (4 * c.sequences * c.seq_length)).from_address(getattr(c, name))
            setattr(self, name, memoryview(bytes_).cast("B").cast(kind))

    def rows(self):
        """Yields (number of the sample, its tokens, its labels) for each sequence."""
        n = self.seq_length
        for i in range(self.sequences):
            yield self.first_sample + i, self.tokens[i * n:(i + 1) * n], self.labels[i * n:(i + 1) * n]


class Step(NamedTuple):
    iteration: int
    consumed_samples: int
    loss: float
    grad_norm: float
    counted: bool
    tokens: float  # sum of loss_mask over this rank's batches
    seconds: float


class Tensor(NamedTuple):
    name: str
    shape: tuple
    is_weight: bool


class _Handle:
    """The library's session. Views hold a reference to it, so their memory stays valid."""

    def __init__(self, it):
        self.it, self.views = it, 0

    def free(self):
        it, self.it = self.it, None
        if it:
            _must(_lib.mgl_session_free(it))

    def __del__(self):
        self.free()


class Session:
    """One rank of a GPT in training. log(level, line): 0 output, 1 information, 2 warning."""

    def __init__(self, config: Config, fill: Callable[[Batch], None] = None, log: Callable[[int, str], None] = None, *,
                 rank=0, world_size=1, master_address="", master_port=0, local_rank=0):
        self._it = ctypes.c_void_p()
        self._log = _Log(lambda _, level, line: log(level, line.decode(errors="replace"))) if log else None
        options = _COptions(ctypes.sizeof(_COptions), ctypes.cast(self._log, ctypes.c_void_p) if log else None, None,
                            rank, world_size, local_rank, master_port, master_address.encode())
        _must(_lib.mgl_session_new(config._it, ctypes.byref(options), ctypes.byref(self._it)))
        self._handle = _Handle(self._it)
        self._raised = None
        if fill:
            self._fill = self._filler(fill)
            _must(_lib.mgl_session_set_batches(self._it, self._fill, None))

    def _filler(self, fill):
        def call(_, batch):
            try:
                fill(Batch(batch.contents))
                return 0
            except BaseException as e:  # the call that requested the batch raises it again
                self._raised = e
                return 1
        return _Fill(call)

    def _filled(self, status):
        raised, self._raised = self._raised, None
        if raised:
            raise raised
        _must(status)

    def step(self) -> Step:
        r = _CStep(ctypes.sizeof(_CStep))
        self._filled(_lib.mgl_session_step(self._it, ctypes.byref(r)))
        return Step(r.iteration, r.consumed_samples, r.loss, r.grad_norm, bool(r.counted), r.tokens, r.seconds)

    def evaluate(self, fill, micro_batches) -> float:
        loss, filler = ctypes.c_double(), self._filler(fill)
        self._filled(_lib.mgl_session_evaluate(self._it, filler, None, ctypes.c_int64(micro_batches),
                                               ctypes.byref(loss)))
        return loss.value

    @property
    def iteration(self) -> int:
        out = ctypes.c_int64()
        _must(_lib.mgl_session_iteration(self._it, ctypes.byref(out)))
        return out.value

    def save(self, directory):
        _must(_lib.mgl_session_save(self._it, str(directory).encode()))

    def load(self, directory):
        _must(_lib.mgl_session_load(self._it, str(directory).encode()))

    def tensors(self):
        count = ctypes.c_int64()
        _must(_lib.mgl_session_tensor_count(self._it, ctypes.byref(count)))
        out = []
        for i in range(count.value):
            c = _CTensor(ctypes.sizeof(_CTensor))
            _must(_lib.mgl_session_tensor_info(self._it, ctypes.c_int64(i), ctypes.byref(c)))
            out.append(Tensor(c.name.decode(), tuple(c.shape[:c.ndim]), bool(c.is_weight)))
        return out

    def read(self, name):
        """All elements in row-major order, as f32."""
        return self._read(name, 0)

    def gradient(self, name):
        """The gradient of a weight: of the last step's mean loss, before clipping."""
        return self._read(name, 1)

    def view(self, name) -> View:
        """The tensor's own memory, without a copy, for from_dlpack. The next step uses what you write there. It raises
        Failed if the session keeps a copy in another precision. It needs a session with one rank on the CPU."""
        return self._view(name, 0)

    def gradient_sum(self, name) -> View:
        """The memory of the last step's gradient, like view(). It is the gradient of the sum of the tokens' losses. Divide
        it by Step.tokens for the gradient of the mean loss."""
        return self._view(name, 2)

    def _view(self, name, kind):
        c = _CView(ctypes.sizeof(_CView))
        _must(_lib.mgl_session_tensor_view(self._it, name.encode(), kind, ctypes.byref(c)))
        if kind == 0 and not c.is_writable:
            raise Failed(f"a view of {name}: the session keeps a copy of it in another precision: use read and write")
        return View(c.data, tuple(c.shape[:c.ndim]), self._handle)

    def _read(self, name, kind):
        c = _CTensor(ctypes.sizeof(_CTensor))
        _must(_lib.mgl_session_tensor_find(self._it, name.encode(), ctypes.byref(c)))
        values = (ctypes.c_float * c.elements)()
        _must(_lib.mgl_session_tensor_read(self._it, name.encode(), kind, values, ctypes.c_int64(c.elements)))
        return memoryview(values).cast("B").cast("f")

    def write(self, name, values):
        """values: a buffer of f32, such as a numpy array, or a sequence of numbers."""
        try:
            view = memoryview(values).cast("B")
        except TypeError:
            view = memoryview(array.array("f", values)).cast("B")
        c_values = (ctypes.c_char * len(view)).from_buffer_copy(view)
        _must(_lib.mgl_session_tensor_write(self._it, name.encode(), c_values, ctypes.c_int64(len(view) // 4)))

    def close(self):
        """Ends the session. Its memory is freed with its last view."""
        self._it = None
        handle = self.__dict__.pop("_handle", None)
        if handle and handle.views == 0:
            handle.free()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()
