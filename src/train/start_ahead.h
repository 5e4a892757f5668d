// Work of a rank's start that does not depend on the checkpoint, and runs before it is chosen.
#pragma once
#include <functional>

#include "base/dtype.h"
#include "resume/compared_snapshots.h"

namespace megalith {

struct StartAhead {
  i64 number = 1;                         // of the start, by `megalith launch`
  ComparedSnapshots* compared = nullptr;  // the snapshots, compared with those of other ranks
  // For a standby rank (`megalith launch --standby`), which has planned its step and connected its device. take_over
  // waits for the order to take over. find_room waits until the former ranks have freed this much memory of the
  // device.
  std::function<void()> take_over{};
  std::function<void(i64 bytes)> find_room{};
  double began = 0;  // time of the takeover, on the steady clock; 0: the process's start
};

}  // namespace megalith
