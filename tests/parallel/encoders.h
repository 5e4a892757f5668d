// The layout matrices of models with an encoder: BERT, T5 and RETRO.
#pragma once
#include "tests/parallel/hall.h"

namespace megalith::parity {

// Each function returns the number of layouts that differ from their references.
int bert(const Hall& at);
int t5(const Hall& at);
int retro(const Hall& at);

}  // namespace megalith::parity
