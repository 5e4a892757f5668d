"""Tensors of a session for DLPack: numpy.from_dlpack and torch.from_dlpack accept them without a copy."""

import ctypes

_CPU, _FLOAT = 1, 2  # DLPack's constants


class _Tensor(ctypes.Structure):  # DLManagedTensor
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("byte_offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_lent = {}  # by address: objects that a consumer's tensor needs until it is released


def _done(address):
    _lent.pop(address, None)


_deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_done)

_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))


def _forgotten(capsule):  # gets the capsule's address in its destructor; a consumer of the tensor renames the capsule
    if _is_valid(capsule, b"dltensor"):
        _done(_pointer(capsule, b"dltensor"))


_destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_forgotten)
_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi))


class View:
    """Memory of a session: f32 in row-major order. The view keeps this memory valid."""

    def __init__(self, data, shape, handle):
        self._data, self.shape, self._handle = data, shape, handle
        handle.views += 1

    def __del__(self):
        self._handle.views -= 1

    def __dlpack_device__(self):
        return _CPU, 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy or (dl_device is not None and tuple(dl_device) != (_CPU, 0)):
            raise BufferError("a view is CPU memory and is never copied: copy the array that from_dlpack returns")
        sizes = (ctypes.c_int64 * len(self.shape))(*self.shape)
        tensor = _Tensor(self._data, _CPU, 0, len(self.shape), _FLOAT, 32, 1, ctypes.addressof(sizes), None, 0, None,
                         ctypes.cast(_deleter, ctypes.c_void_p))
        address = ctypes.addressof(tensor)
        _lent[address] = tensor, sizes, self
        return _capsule(address, b"dltensor", ctypes.cast(_destructor, ctypes.c_void_p))
