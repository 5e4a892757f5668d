// gelu: x cdf(x), with the normal distribution; derivative cdf(x) + x density(x).
// gelu_tanh: x (1 + tanh(u)) / 2 = x logistic(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3).
#include "exec/cuda/kernels/activate.h"

#include "exec/cuda/kernels/device_math.cuh"
#include "exec/cuda/kernels/elementwise.cuh"

namespace megalith::cuda {

constexpr float kTwiceRoot = 1.59576912160573071f;  // 2 sqrt(2 / pi)
constexpr float kCubic = kTwiceRoot * 0.044715f;

template <bool kPrecisely>
struct Gelu {
  static __device__ float value(float x) {
    // fminf and fmaxf drop a NaN, the product with x brings it back
    return x * normal_distribution<kPrecisely>(x).cdf;
  }
  static __device__ float slope(float x) {
    const Normal n = normal_distribution<kPrecisely>(x);
    return fmaf(x, n.density, n.cdf);
  }
};

template <bool kPrecisely>
struct GeluTanh {
  static __device__ float value(float x) { return x * logistic<kPrecisely>(x * fmaf(kCubic, x * x, kTwiceRoot)).s; }
  static __device__ float slope(float x) {
    const float square = x * x;
    const Logistic l = logistic<kPrecisely>(x * fmaf(kCubic, square, kTwiceRoot));
    return fmaf(x * (l.s * l.rest), fmaf(3 * kCubic, square, kTwiceRoot), l.s);
  }
};

template <bool>
struct SquaredRelu {
  static __device__ float value(float x) { return x < 0 ? 0.0f : x * x; }
  static __device__ float slope(float x) { return x < 0 ? 0.0f : x + x; }
};

template <class F>
struct Value {
  __device__ float operator()(float x) const { return F::value(x); }
};
template <class F>
struct TimesSlope {
  __device__ float operator()(float dy, float x) const { return dy * F::slope(x); }
};

template <class T>
struct GradPointers {
  const T *dy, *x;
  T *dx, *y;
};

// dx and y, as map_kernel does it.
template <class F, int N, int U, class T>
static __global__ void __launch_bounds__(kMapThreads) grad_again_kernel(i64 n, const GradPointers<T> p) {
  const i64 first = i64(blockIdx.x) * (U * kMapThreads) + threadIdx.x, end = n / N, rest = end * N + threadIdx.x;
  const Packs<T, N, U> dy(p.dy, first, end), x(p.x, first, end);
  map_packs<float, N, U>(TimesSlope<F>{}, p.dx, first, end, dy, x);
  map_packs<float, N, U>(Value<F>{}, p.y, first, end, x);
  if (blockIdx.x == 0 && rest < n) {
    const float d = convert<float>(p.dy[rest]), at = convert<float>(p.x[rest]);
    p.dx[rest] = convert<T>(d * F::slope(at)), p.y[rest] = convert<T>(F::value(at));
  }
}

template <class F, class T>
static void launch_again(const ActivateLaunch& l, const GradPointers<T>& p, cudaStream_t stream) {
  constexpr int N = kPackSize<T>, U = 2;
  const int blocks = std::max(1, blocks_for(l.n / N, U * kMapThreads));
  grad_again_kernel<F, N, U><<<blocks, kMapThreads, 0, stream>>>(l.n, p);
}

// Calls f with the function of `act` and the element type.
template <class F>
static void with_function(const ActivateLaunch& l, F&& f) {
  dispatch_activation(l.dtype, [&]<class T>() {
    if (l.act == ActKind::gelu)
      f.template operator()<Gelu<kPrecise<T>>, T>();
    else if (l.act == ActKind::gelu_tanh)
      f.template operator()<GeluTanh<kPrecise<T>>, T>();
    else
      f.template operator()<SquaredRelu<kPrecise<T>>, T>();
  });
}

void launch_activate(const ActivateLaunch& l, const void* x, void* y, cudaStream_t stream) {
  with_function(l, [&]<class F, class T>() {
    launch_map(stream, l.n, Value<F>{}, static_cast<T*>(y), static_cast<const T*>(x));
  });
  check_launch("[activate] launch");
}

void launch_activate_grad(const ActivateLaunch& l, const ActivateGradBuffers& b, cudaStream_t stream) {
  if (l.n == 0) return;
  with_function(l, [&]<class F, class T>() {
    const GradPointers<T> p{static_cast<const T*>(b.dy), static_cast<const T*>(b.x), static_cast<T*>(b.dx),
                            static_cast<T*>(b.y)};
    if (b.y)
      launch_again<F>(l, p, stream);
    else
      launch_map(stream, l.n, TimesSlope<F>{}, p.dx, p.dy, p.x);
  });
  check_launch("[activate_grad] launch");
}

}  // namespace megalith::cuda
