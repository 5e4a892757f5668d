// The classes that checkpoints of PyTorch, Megatron-LM and their tools name. They are only names here.
#include <algorithm>
#include <iterator>

#include "ckpt/torch/pickle.h"

namespace megalith {
namespace {

constexpr std::string_view kClasses[] = {
    // Python
    "_codecs.encode", "argparse.Namespace", "builtins.bytearray", "builtins.complex", "builtins.dict",
    "builtins.frozenset", "builtins.list", "builtins.set", "builtins.slice", "builtins.tuple", "__builtin__.set",
    "__builtin__.frozenset", "__builtin__.bytearray", "collections.OrderedDict", "collections.defaultdict",
    "collections.Counter", "datetime.timedelta", "functools.partial", "io.BytesIO", "_io.BytesIO", "pathlib.PosixPath",
    "pathlib.PurePosixPath", "pathlib.Path", "pathlib._local.PosixPath", "signal.Signals", "types.SimpleNamespace",
    // numpy
    "numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct", "numpy.core.multiarray.scalar",
    "numpy._core.multiarray.scalar", "numpy.dtype", "numpy.ndarray", "numpy.dtypes.UInt32DType",
    "numpy.dtypes.Float64DType", "numpy.dtypes.Int64DType",
    // torch
    "torch.Size", "torch.Tensor", "torch.nn.parameter.Parameter", "torch._utils._rebuild_tensor",
    "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor_v3", "torch._utils._rebuild_parameter",
    "torch._utils._rebuild_parameter_with_state", "torch._tensor._rebuild_from_type_v2", "torch.device",
    "torch.serialization._get_layout", "torch.FloatStorage", "torch.DoubleStorage", "torch.HalfStorage",
    "torch.BFloat16Storage", "torch.LongStorage", "torch.IntStorage", "torch.ShortStorage", "torch.CharStorage",
    "torch.ByteStorage", "torch.BoolStorage", "torch.ComplexFloatStorage", "torch.ComplexDoubleStorage",
    "torch.storage.UntypedStorage", "torch.storage._UntypedStorage", "torch.storage.TypedStorage", "torch.float32",
    "torch.float64", "torch.float16", "torch.bfloat16", "torch.float8_e4m3fn", "torch.float8_e5m2", "torch.int8",
    "torch.int16", "torch.int32", "torch.int64", "torch.uint8", "torch.uint16", "torch.uint32", "torch.uint64",
    "torch.bool", "torch.storage._load_from_bytes", "torch.complex32", "torch.complex64", "torch.complex128",
    "torch.float8_e4m3fnuz", "torch.float8_e5m2fnuz", "torch.float8_e8m0fnu", "torch.float4_e2m1fn_x2",
    // PyTorch's distributed checkpoints
    "torch.distributed.checkpoint.metadata.Metadata", "torch.distributed.checkpoint.metadata.TensorStorageMetadata",
    "torch.distributed.checkpoint.metadata.BytesStorageMetadata",
    "torch.distributed.checkpoint.metadata.ChunkStorageMetadata",
    "torch.distributed.checkpoint.metadata.TensorProperties", "torch.distributed.checkpoint.metadata.MetadataIndex",
    "torch.distributed.checkpoint.metadata.StorageMeta", "torch.distributed.checkpoint.metadata._MEM_FORMAT_ENCODING",
    "torch.distributed._shard.sharded_tensor.metadata.TensorProperties",
    "torch.distributed._shard.sharded_tensor.metadata.MEM_FORMAT_ENCODING",
    "torch.distributed.checkpoint.filesystem._StorageInfo", "torch.distributed.checkpoint.planner.SavePlan",
    "torch.distributed.checkpoint.planner.WriteItem", "torch.distributed.checkpoint.planner.WriteItemType",
    "torch.distributed.checkpoint.planner.TensorWriteData",
    // Transformer Engine
    "transformer_engine.common.recipe.DelayedScaling", "transformer_engine.common.recipe.Format",
    "transformer_engine.common.recipe._FormatHelper",
    // Megatron-LM
    "megatron.core.dist_checkpointing.strategies.torch.MCoreMetadata",
    "megatron.core.dist_checkpointing.strategies.torch.MCoreSavePlan", "megatron.core.enums.Fp8Recipe",
    "megatron.core.enums.Fp4Recipe", "megatron.core.enums.ModelType", "megatron.core.enums.CudaGraphScope",
    "megatron.core.transformer.enums.AttnBackend", "megatron.core.transformer.enums.AttnMaskType",
    "megatron.core.transformer.enums.AttnType", "megatron.core.transformer.enums.CudaGraphScope",
    "megatron.core.transformer.enums.CudaGraphModule", "megatron.core.transformer.enums.LayerType",
    "megatron.core.transformer.enums.ModelType", "megatron.core.rerun_state_machine.RerunDiagnostic",
    "megatron.core.rerun_state_machine.RerunMode", "megatron.core.rerun_state_machine.RerunState",
    "megatron.model.enums.ModelType", "megatron.legacy.enums.ModelType", "megatron.legacy.model.enums.ModelType",
    "megatron.model.enums.PositionEmbeddingType"};

}  // namespace

bool is_known_pickle_class(std::string_view name) {
  return std::find(std::begin(kClasses), std::end(kClasses), name) != std::end(kClasses);
}

}  // namespace megalith
