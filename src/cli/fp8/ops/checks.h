// The checks of each file by the ops that training runs, on the CPU or on a GPU. What no op gives is told by its name.
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

// Codes [rows, cols], one a byte, and their scales, of boxes of height x width: as an op gave them.
struct CodedMatrix {
  CodeFormat format = CodeFormat::e4m3;
  i64 rows = 0, cols = 0, height = 1, width = 1;
  std::vector<u8> codes;
  std::vector<float> scale_inv;
  bool turned = false;  // the cast saw the transpose

  quant::Operand operand() const;
};

struct CodedBoth {
  CodedMatrix as_is, turned;
};
// Of v, and of its transpose by the same scales. amax: of the tensor, where the scale follows from it.
CodedBoth coded_by_op(const OpRunner& ops, const Quantize& op, const Values& v, const std::vector<Array>& amax = {});

// Holds a b^T, computed by QuantizedProduct, against the file's.
void hold_product_by_op(const OpCheck& c, const std::string& tensor, const CodedMatrix& a, const CodedMatrix& b);

}  // namespace megalith::fp8
