// The same kernel tests on a GPU: buffers go there and back, each between guard bytes that must stay. Without a GPU
// every test is reported as skipped.
#include <gtest/gtest.h>

#include <map>

#include "exec/cuda/backend.h"
#include "exec/cuda/kernel.h"
#include "tests/kernels/under_test.h"

namespace megalith::kernel_tests {
namespace {

class NeedsGpu : public testing::Environment {
  void SetUp() override {
    // The mark by which ctest knows a skipped test; gtest prints it for single tests only.
    if (cuda_device_count() == 0) GTEST_SKIP() << "[  SKIPPED ] no GPU here";
  }
};
[[maybe_unused]] const testing::Environment* const needs_gpu = testing::AddGlobalTestEnvironment(new NeedsGpu);

cuda::Device& device() {
  static cuda::Device one(0, "");
  return one;
}

class DeviceBuffer {
 public:
  DeviceBuffer(i64 bytes, u8 content) : bytes_(bytes) {
    cuda::check_cuda(cudaMalloc(reinterpret_cast<void**>(&all_), size_t(bytes + 2 * kGuard)), "test buffer");
    cuda::check_cuda(cudaMemset(all_, kMark, size_t(bytes + 2 * kGuard)), "test buffer");
    cuda::check_cuda(cudaMemset(data(), content, size_t(bytes)), "test buffer");
    cuda::check_cuda(cudaDeviceSynchronize(), "test buffer");  // the device's stream does not wait for the default one
  }
  ~DeviceBuffer() { cudaFree(all_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  std::byte* data() { return all_ + kGuard; }
  void from(const std::byte* host) {
    cuda::check_cuda(cudaMemcpy(data(), host, size_t(bytes_), cudaMemcpyDefault), "in");
  }
  void to(std::byte* host) { cuda::check_cuda(cudaMemcpy(host, data(), size_t(bytes_), cudaMemcpyDefault), "out"); }
  bool intact() {
    std::vector<u8> all(size_t(bytes_ + 2 * kGuard));
    cuda::check_cuda(cudaMemcpy(all.data(), all_, all.size(), cudaMemcpyDefault), "guards");
    for (size_t i = 0; i < all.size(); ++i)
      if ((i < kGuard || i >= size_t(kGuard + bytes_)) && all[i] != kMark) return false;
    return true;
  }

 private:
  static constexpr i64 kGuard = 512;
  static constexpr u8 kMark = 0xA5;
  i64 bytes_;
  std::byte* all_ = nullptr;
};

void run(const cuda::Kernel& kernel, const KernelContext& context, const Buffers& b) {
  std::map<std::byte*, std::unique_ptr<DeviceBuffer>> there;  // by host address: what aliases here aliases there
  std::vector<std::byte*> ins, outs;
  const auto on_device = [&](std::byte* host, i64 bytes) {
    auto& buffer = there[host];
    if (!buffer) buffer = std::make_unique<DeviceBuffer>(bytes, 0), buffer->from(host);
    return buffer->data();
  };
  for (int i = 0; i < int(b.ins.size()); ++i) ins.push_back(on_device(b.ins[i], context.in_bytes(i)));
  for (int i = 0; i < int(b.outs.size()); ++i) outs.push_back(on_device(b.outs[i], context.out_bytes(i)));
  DeviceBuffer workspace(kernel.workspace, b.garbage);
  // What fills the buffers runs on another stream, and may still.
  cuda::check_cuda(cudaDeviceSynchronize(), "filling the buffers");
  kernel.run({ins, outs, workspace.data(), b.first_micro_batch, device().stream()});
  cuda::check_cuda(cudaStreamSynchronize(device().stream()), "running the kernel");
  EXPECT_TRUE(workspace.intact()) << "wrote around the workspace of " << kernel.workspace << " bytes";
  for (auto& [host, buffer] : there) {
    EXPECT_TRUE(buffer->intact()) << "wrote around a buffer";
    buffer->to(host);
  }
}

}  // namespace

TestedKernel prepare_tested(const AnyOp& op, const KernelContext& context) {
  const cuda::Kernel kernel =
      cuda::prepare_any(op, {context.place.mesh, context.place.coord, context.ins, context.outs, device()});
  return {0, [kernel, context](const Buffers& b) { run(kernel, context, b); }};
}

const std::vector<DType>& tested_dtypes() {
  static const std::vector<DType> all = {DType::f32, DType::bf16, DType::f16};
  return all;
}

bool same_in_place() { return false; }
double probability_error(DType dtype) {
  return dtype == DType::bf16 ? 0x1p-8 : dtype == DType::f16 ? 0x1p-11 : 0x1p-24;
}

}  // namespace megalith::kernel_tests
