// New weights beside the forward (--overlap-param-gather). The update leaves a rank's part of a bucket in its leaf.
// What reads the weights next, a training step or an evaluation, gathers them in its first micro-batch. All transfers
// are begun at its head, in the order in which the forward reads the buckets. Each is waited for where its first member
// is read. So nobody has to know between steps whether the weights are whole.
#pragma once
#include "optim/buckets.h"

namespace megalith {

// Adds these transfers to b's graph for those of the late buckets that have members there: whole, at its head, where no
// pass can bring a reader before their ends. The pass gather-ahead moves the ends. Returns the other buckets.
std::vector<Bucket> gather_weights(Builder& b, const std::vector<Bucket>& buckets,
                                   const std::vector<Parameter>& parameters);

}  // namespace megalith
