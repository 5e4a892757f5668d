// Reads which iterations the files of a run have.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// Of a metrics file at a path. Each line must be an object.
std::vector<i64> in_metrics_file(const std::string& path);
// Of the bytes of a W&B file: those of the rows up to the first wrong checksum.
std::vector<i64> in_wandb(const std::string& file);
// Of the bytes of a TensorBoard file: the steps of the loss curve. Empty if the file has an incomplete record.
std::vector<i64> in_tensorboard(const std::string& file);

}  // namespace megalith
