// Dispatch and combine of tokens as relayouts: a value split over the stream's axes [s,b,..] is gathered over ep and
// etp. A sum over them returns to the stream's layout.
#pragma once
#include "graph/builder.h"

namespace megalith {

class TokensOfExperts {
 public:
  // `x` [s,b,..] has the stream's layout.
  TokensOfExperts(Builder& b, Value x);

  // [s,b,..] as x is split -> Copy over ep and etp; over edp it stays split.
  Value gather(Value v) const;
  // y [s,b,..] as gathered, but Partial over ep and etp -> as x is split.
  Value give_back(Value y) const;

 private:
  // The atoms of ep and etp that belong to one dense axis. If none of its atoms is in edp, it is the whole axis:
  // parts of one rank do not matter. It is also the whole axis if a part of its split cannot be gathered separately,
  // as with zigzag order. Then each rank of edp keeps a part in block order.
  struct Part {
    AxisSet axes;
    AxisSet cut;  // atoms of edp that split again
    State from;   // x's
    Order order;  // of a split
  };

  Builder& b_;
  std::vector<Part> parts_;  // the innermost first
};

}  // namespace megalith
