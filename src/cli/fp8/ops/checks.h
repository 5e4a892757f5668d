// The checks of each file with the ops of training, on the CPU or on a GPU. Tensors without an op are reported by
// name.
#pragma once
#include "cli/fp8/linear.h"
#include "cli/fp8/ops/runner.h"
#include "ops/quantize.h"

namespace megalith::fp8 {

struct OpCheck {
  const OpRunner& ops;
  VectorFile& file;
  VectorCheck& held;
};

void check_casts_by_ops(const OpCheck& c);
void check_scales_by_ops(const OpCheck& c);
void check_delayed_by_ops(const OpCheck& c);
void check_tensorwise_by_ops(const OpCheck& c);
void check_blockwise_by_ops(const OpCheck& c);
void check_mxfp8_by_ops(const OpCheck& c);
void check_nvfp4_by_ops(const OpCheck& c);
void check_loss_scale_by_ops(const OpCheck& c);

CodeFormat code_format(quant::Fp8 format);
Array array_of(const Values& v);  // [rows, cols] in bf16

// Codes [rows, cols], one a byte, and their scales for boxes of height x width: the results of an op.
struct CodedMatrix {
  CodeFormat format = CodeFormat::e4m3;
  i64 rows = 0, cols = 0, height = 1, width = 1;
  std::vector<u8> codes;
  std::vector<float> scale_inv;
  bool turned = false;  // the op cast the transpose

  quant::Operand operand() const;
};

struct CodedBoth {
  CodedMatrix as_is, turned;
};
// The codes of v, and of its transpose with the same scales. amax: of the tensor, if the scale depends on it.
CodedBoth coded_by_op(const OpRunner& ops, const Quantize& op, const Values& v, const std::vector<Array>& amax = {});

// Compares a b^T from QuantizedProduct with the file's.
void hold_product_by_op(const OpCheck& c, const std::string& tensor, const CodedMatrix& a, const CodedMatrix& b);

}  // namespace megalith::fp8
