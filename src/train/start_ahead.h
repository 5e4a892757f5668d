// What a rank does before it is known where its run goes on.
#pragma once
#include <functional>

#include "base/dtype.h"
#include "resume/compared_snapshots.h"

namespace megalith {

struct StartAhead {
  ComparedSnapshots* compared = nullptr;  // snapshots, beside what came before
  // Of a rank that stands by (`megalith launch --standby`). It plans and connects its device. Then it waits until it
  // is to take over, and later until the ranks before have left so many bytes of the device.
  std::function<void()> take_over{};
  std::function<void(i64 bytes)> find_room{};
  double began = 0;  // when it took over, on the steady clock; 0: it began with its process
};

}  // namespace megalith
