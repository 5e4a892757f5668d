// The description of a matrix product in oneDNN 2.x. The build includes this folder or its neighbour, by oneDNN's
// version.
#pragma once
#include <dnnl.hpp>

namespace megalith::cpu {

inline dnnl::matmul::primitive_desc matmul_desc(const dnnl::engine& engine, const dnnl::memory::desc& a,
                                                const dnnl::memory::desc& b, const dnnl::memory::desc& c,
                                                const dnnl::primitive_attr& attr) {
  return {dnnl::matmul::desc(a, b, c), attr, engine};
}

}  // namespace megalith::cpu
