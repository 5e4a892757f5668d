// How a rank ends whose results are in doubt.
#pragma once

namespace megalith {

inline constexpr int kTransientDoubt =
    16;  // a result that was right when computed again, or a copy that is another one
inline constexpr int kPersistentDoubt = 17;  // the device computes wrongly

}  // namespace megalith
