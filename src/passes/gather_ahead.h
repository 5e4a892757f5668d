// All-gathers of new weights overlap the forward (--overlap-param-gather). The update leaves a rank's part of a bucket
// in its leaf. The next program that reads the weights, a training step or an evaluation, gathers them in its first
// micro-batch. All transfers start at the beginning of the program, in the order in which the forward reads the
// buckets. Each Wait is before the first reader of its bucket. So no code between steps needs to know whether the
// weights are gathered.
#pragma once
#include "optim/buckets.h"

namespace megalith {

// Adds the transfers of the late buckets that have members in b's graph. Their Waits are at the beginning too, so no
// pass can move a reader before them; the pass gather-ahead moves the Waits later. Returns the other buckets.
std::vector<Bucket> gather_weights(Builder& b, const std::vector<Bucket>& buckets,
                                   const std::vector<Parameter>& parameters);

}  // namespace megalith
