// Finds the neighbours of the samples of a pretrain-retro run.
#pragma once
#include <functional>
#include <memory>

#include "comm/ranks.h"
#include "data/retro/point_products.h"
#include "settings/device_options.h"

namespace megalith {

// Makes a device's products of points of `size` numbers, with a database of this many. nullptr: the CPU computes
// them. All ranks call it.
using MakeProducts =
    std::function<std::unique_ptr<PointProducts>(const DeviceOptions& device, Ranks& ranks, i64 points, i64 size)>;

// argv[0] is the command's name; its flags follow. All ranks call it with the same words, and share the work.
void retro_build(int argc, const char* const* argv, Ranks& ranks, const MakeProducts& make_products = {});

}  // namespace megalith
