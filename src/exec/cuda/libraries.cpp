// cuBLASLt, cuDNN and NVRTC, loaded at the first call of one of their functions. If they were linked normally, each run
// on a CPU would use 180 MiB more memory. Mapping them would also take time. The program would not start without them.
// Each function here has the library's own name and type, and passes its arguments on.
#include <cublasLt.h>
#include <cudnn.h>
#include <nvrtc.h>

#include "exec/cuda/open_library.h"

namespace megalith::cuda {
namespace {

struct Blas {
  static void* open() { return open_library(fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR), CUBLASLT_PATH); }
};
struct Dnn {
  static void* open() { return open_library(fmt::format("libcudnn.so.{}", CUDNN_MAJOR), CUDNN_PATH); }
};
struct Rtc {
  static void* open() { return open_library(fmt::format("libnvrtc.so.{}", CUBLAS_VER_MAJOR), NVRTC_PATH); }
};

}  // namespace
}  // namespace megalith::cuda

using megalith::cuda::Blas, megalith::cuda::Dnn, megalith::cuda::Rtc, megalith::cuda::find;

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* lightHandle) {
  static const auto function = find<Blas, decltype(cublasLtCreate)>("cublasLtCreate");
  return function(lightHandle);
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t lightHandle) {
  static const auto function = find<Blas, decltype(cublasLtDestroy)>("cublasLtDestroy");
  return function(lightHandle);
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  static const auto function = find<Blas, decltype(cublasLtGetStatusString)>("cublasLtGetStatusString");
  return function(status);
}

size_t cublasLtGetVersion() {
  static const auto function = find<Blas, decltype(cublasLtGetVersion)>("cublasLtGetVersion");
  return function();
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc, const void* alpha,
                              const void* A, cublasLtMatrixLayout_t Adesc, const void* B, cublasLtMatrixLayout_t Bdesc,
                              const void* beta, const void* C, cublasLtMatrixLayout_t Cdesc, void* D,
                              cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t* algo, void* workspace,
                              size_t workspaceSizeInBytes, cudaStream_t stream) {
  static const auto function = find<Blas, decltype(cublasLtMatmul)>("cublasLtMatmul");
  return function(lightHandle, computeDesc, alpha, A, Adesc, B, Bdesc, beta, C, Cdesc, D, Ddesc, algo, workspace,
                  workspaceSizeInBytes, stream);
}

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                 cublasLtMatmulAlgoCapAttributes_t attr, void* buf, size_t sizeInBytes,
                                                 size_t* sizeWritten) {
  static const auto function =
      find<Blas, decltype(cublasLtMatmulAlgoCapGetAttribute)>("cublasLtMatmulAlgoCapGetAttribute");
  return function(algo, attr, buf, sizeInBytes, sizeWritten);
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc,
                                       cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
                                       cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                       const cublasLtMatmulAlgo_t* algo, cublasLtMatmulHeuristicResult_t* result) {
  static const auto function = find<Blas, decltype(cublasLtMatmulAlgoCheck)>("cublasLtMatmulAlgoCheck");
  return function(lightHandle, operationDesc, Adesc, Bdesc, Cdesc, Ddesc, algo, result);
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attr, void* buf,
                                                    size_t sizeInBytes, size_t* sizeWritten) {
  static const auto function =
      find<Blas, decltype(cublasLtMatmulAlgoConfigGetAttribute)>("cublasLtMatmulAlgoConfigGetAttribute");
  return function(algo, attr, buf, sizeInBytes, sizeWritten);
}

cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attr, const void* buf,
                                                    size_t sizeInBytes) {
  static const auto function =
      find<Blas, decltype(cublasLtMatmulAlgoConfigSetAttribute)>("cublasLtMatmulAlgoConfigSetAttribute");
  return function(algo, attr, buf, sizeInBytes);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc,
                                              cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
                                              cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                              cublasLtMatmulPreference_t preference, int requestedAlgoCount,
                                              cublasLtMatmulHeuristicResult_t heuristicResultsArray[],
                                              int* returnAlgoCount) {
  static const auto function = find<Blas, decltype(cublasLtMatmulAlgoGetHeuristic)>("cublasLtMatmulAlgoGetHeuristic");
  return function(lightHandle, operationDesc, Adesc, Bdesc, Cdesc, Ddesc, preference, requestedAlgoCount,
                  heuristicResultsArray, returnAlgoCount);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* matmulDesc, cublasComputeType_t computeType,
                                        cudaDataType_t scaleType) {
  static const auto function = find<Blas, decltype(cublasLtMatmulDescCreate)>("cublasLtMatmulDescCreate");
  return function(matmulDesc, computeType, scaleType);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t matmulDesc) {
  static const auto function = find<Blas, decltype(cublasLtMatmulDescDestroy)>("cublasLtMatmulDescDestroy");
  return function(matmulDesc);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t matmulDesc, cublasLtMatmulDescAttributes_t attr,
                                              const void* buf, size_t sizeInBytes) {
  static const auto function = find<Blas, decltype(cublasLtMatmulDescSetAttribute)>("cublasLtMatmulDescSetAttribute");
  return function(matmulDesc, attr, buf, sizeInBytes);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* pref) {
  static const auto function = find<Blas, decltype(cublasLtMatmulPreferenceCreate)>("cublasLtMatmulPreferenceCreate");
  return function(pref);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t pref) {
  static const auto function = find<Blas, decltype(cublasLtMatmulPreferenceDestroy)>("cublasLtMatmulPreferenceDestroy");
  return function(pref);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t pref,
                                                    cublasLtMatmulPreferenceAttributes_t attr, const void* buf,
                                                    size_t sizeInBytes) {
  static const auto function =
      find<Blas, decltype(cublasLtMatmulPreferenceSetAttribute)>("cublasLtMatmulPreferenceSetAttribute");
  return function(pref, attr, buf, sizeInBytes);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* matLayout, cudaDataType type, uint64_t rows,
                                          uint64_t cols, int64_t ld) {
  static const auto function = find<Blas, decltype(cublasLtMatrixLayoutCreate)>("cublasLtMatrixLayoutCreate");
  return function(matLayout, type, rows, cols, ld);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t matLayout) {
  static const auto function = find<Blas, decltype(cublasLtMatrixLayoutDestroy)>("cublasLtMatrixLayoutDestroy");
  return function(matLayout);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t matLayout, cublasLtMatrixLayoutAttribute_t attr,
                                                const void* buf, size_t sizeInBytes) {
  static const auto function =
      find<Blas, decltype(cublasLtMatrixLayoutSetAttribute)>("cublasLtMatrixLayoutSetAttribute");
  return function(matLayout, attr, buf, sizeInBytes);
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t descriptorType,
                                           cudnnBackendDescriptor_t* descriptor) {
  static const auto function = find<Dnn, decltype(cudnnBackendCreateDescriptor)>("cudnnBackendCreateDescriptor");
  return function(descriptorType, descriptor);
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  static const auto function = find<Dnn, decltype(cudnnBackendDestroyDescriptor)>("cudnnBackendDestroyDescriptor");
  return function(descriptor);
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
                                  cudnnBackendDescriptor_t variantPack) {
  static const auto function = find<Dnn, decltype(cudnnBackendExecute)>("cudnnBackendExecute");
  return function(handle, executionPlan, variantPack);
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  static const auto function = find<Dnn, decltype(cudnnBackendFinalize)>("cudnnBackendFinalize");
  return function(descriptor);
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t attributeName,
                                       cudnnBackendAttributeType_t attributeType, int64_t requestedElementCount,
                                       int64_t* elementCount, void* arrayOfElements) {
  static const auto function = find<Dnn, decltype(cudnnBackendGetAttribute)>("cudnnBackendGetAttribute");
  return function(descriptor, attributeName, attributeType, requestedElementCount, elementCount, arrayOfElements);
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t attributeName,
                                       cudnnBackendAttributeType_t attributeType, int64_t elementCount,
                                       const void* arrayOfElements) {
  static const auto function = find<Dnn, decltype(cudnnBackendSetAttribute)>("cudnnBackendSetAttribute");
  return function(descriptor, attributeName, attributeType, elementCount, arrayOfElements);
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  static const auto function = find<Dnn, decltype(cudnnCreate)>("cudnnCreate");
  return function(handle);
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  static const auto function = find<Dnn, decltype(cudnnDestroy)>("cudnnDestroy");
  return function(handle);
}

const char* cudnnGetErrorString(cudnnStatus_t status) {
  static const auto function = find<Dnn, decltype(cudnnGetErrorString)>("cudnnGetErrorString");
  return function(status);
}

void cudnnGetLastErrorString(char* message, size_t max_size) {
  static const auto function = find<Dnn, decltype(cudnnGetLastErrorString)>("cudnnGetLastErrorString");
  return function(message, max_size);
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* streamId) {
  static const auto function = find<Dnn, decltype(cudnnGetStream)>("cudnnGetStream");
  return function(handle, streamId);
}

size_t cudnnGetVersion() {
  static const auto function = find<Dnn, decltype(cudnnGetVersion)>("cudnnGetVersion");
  return function();
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t streamId) {
  static const auto function = find<Dnn, decltype(cudnnSetStream)>("cudnnSetStream");
  return function(handle, streamId);
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram prog, int numOptions, const char* const* options) {
  static const auto function = find<Rtc, decltype(nvrtcCompileProgram)>("nvrtcCompileProgram");
  return function(prog, numOptions, options);
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* prog, const char* src, const char* name, int numHeaders,
                               const char* const* headers, const char* const* includeNames) {
  static const auto function = find<Rtc, decltype(nvrtcCreateProgram)>("nvrtcCreateProgram");
  return function(prog, src, name, numHeaders, headers, includeNames);
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* prog) {
  static const auto function = find<Rtc, decltype(nvrtcDestroyProgram)>("nvrtcDestroyProgram");
  return function(prog);
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram prog, char* cubin) {
  static const auto function = find<Rtc, decltype(nvrtcGetCUBIN)>("nvrtcGetCUBIN");
  return function(prog, cubin);
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram prog, size_t* cubinSizeRet) {
  static const auto function = find<Rtc, decltype(nvrtcGetCUBINSize)>("nvrtcGetCUBINSize");
  return function(prog, cubinSizeRet);
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram prog, char* log) {
  static const auto function = find<Rtc, decltype(nvrtcGetProgramLog)>("nvrtcGetProgramLog");
  return function(prog, log);
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram prog, size_t* logSizeRet) {
  static const auto function = find<Rtc, decltype(nvrtcGetProgramLogSize)>("nvrtcGetProgramLogSize");
  return function(prog, logSizeRet);
}

}  // extern "C"
