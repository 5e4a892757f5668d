// The description of a matrix product in oneDNN 2.x. For oneDNN 3.x the build includes onednn/v3 instead.
#pragma once
#include <dnnl.hpp>

namespace megalith::cpu {

inline dnnl::matmul::primitive_desc matmul_desc(const dnnl::engine& engine, const dnnl::memory::desc& a,
                                                const dnnl::memory::desc& b, const dnnl::memory::desc& c,
                                                const dnnl::primitive_attr& attr) {
  return {dnnl::matmul::desc(a, b, c), attr, engine};
}

}  // namespace megalith::cpu
