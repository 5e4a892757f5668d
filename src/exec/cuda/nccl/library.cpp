// NCCL, loaded at the first call of one of its functions, as in libraries.cpp. A run on one GPU never loads it.
#include <nccl.h>

#include "exec/cuda/open_library.h"

namespace megalith::cuda {
namespace {

struct Nccl {
  static void* open() { return open_library(fmt::format("libnccl.so.{}", NCCL_MAJOR), NCCL_PATH); }
};

}  // namespace
}  // namespace megalith::cuda

using megalith::cuda::Nccl, megalith::cuda::find;

extern "C" {

const char* ncclGetErrorString(ncclResult_t result) {
  static const auto function = find<Nccl, decltype(ncclGetErrorString)>("ncclGetErrorString");
  return function(result);
}

const char* ncclGetLastError(ncclComm_t comm) {
  static const auto function = find<Nccl, decltype(ncclGetLastError)>("ncclGetLastError");
  return function(comm);
}

ncclResult_t ncclGetVersion(int* version) {
  static const auto function = find<Nccl, decltype(ncclGetVersion)>("ncclGetVersion");
  return function(version);
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  static const auto function = find<Nccl, decltype(ncclGetUniqueId)>("ncclGetUniqueId");
  return function(uniqueId);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t* config) {
  static const auto function = find<Nccl, decltype(ncclCommInitRankConfig)>("ncclCommInitRankConfig");
  return function(comm, nranks, commId, rank, config);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  static const auto function = find<Nccl, decltype(ncclCommDestroy)>("ncclCommDestroy");
  return function(comm);
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  static const auto function = find<Nccl, decltype(ncclCommAbort)>("ncclCommAbort");
  return function(comm);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  static const auto function = find<Nccl, decltype(ncclCommGetAsyncError)>("ncclCommGetAsyncError");
  return function(comm, asyncError);
}

ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream) {
  static const auto function = find<Nccl, decltype(ncclAllGather)>("ncclAllGather");
  return function(sendbuff, recvbuff, sendcount, datatype, comm, stream);
}

ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  static const auto function = find<Nccl, decltype(ncclReduceScatter)>("ncclReduceScatter");
  return function(sendbuff, recvbuff, recvcount, datatype, op, comm, stream);
}

ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  static const auto function = find<Nccl, decltype(ncclAllReduce)>("ncclAllReduce");
  return function(sendbuff, recvbuff, count, datatype, op, comm, stream);
}

ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  static const auto function = find<Nccl, decltype(ncclSend)>("ncclSend");
  return function(sendbuff, count, datatype, peer, comm, stream);
}

ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  static const auto function = find<Nccl, decltype(ncclRecv)>("ncclRecv");
  return function(recvbuff, count, datatype, peer, comm, stream);
}

ncclResult_t ncclGroupStart() {
  static const auto function = find<Nccl, decltype(ncclGroupStart)>("ncclGroupStart");
  return function();
}

ncclResult_t ncclGroupEnd() {
  static const auto function = find<Nccl, decltype(ncclGroupEnd)>("ncclGroupEnd");
  return function();
}

}  // extern "C"
