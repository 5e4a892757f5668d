// What tests need to hold sessions against the command: its batches, its losses, its checkpoints.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

std::string quoted(const std::string& path);
// What it prints; a failure shows all of it.
std::string output_of(const std::string& command);
int free_port();  // of this host

// The samples that `pretrain-gpt FLAGS --mock-data` reads, in its order: tokens, then labels.
void write_command_batches(const std::string& file, const std::string& flags, i64 samples);
std::vector<double> losses_in(const std::string& metrics_file);
// The same bytes of each tensor of two native checkpoints.
void expect_same_checkpoint(const std::string& dir, const std::string& other, i64 iteration);

}  // namespace megalith
