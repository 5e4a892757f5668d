// Dispatch and combine of tokens as relayouts: a value split over the stream's axes [s,b,..] is gathered over ep and
// etp. A sum over them returns to the stream's layout.
#pragma once
#include "graph/builder.h"

namespace megalith {

class TokensOfExperts {
 public:
  // `x` [s,b,..] has the stream's layout.
  TokensOfExperts(Builder& b, Value x);

  // [s,b,..] split like x -> Copy over ep and etp; over edp it stays split.
  Value gather(Value v) const;
  // y [s,b,..] laid out like the gathered value, but Partial over ep and etp -> split like x.
  Value give_back(Value y) const;

 private:
  // The atoms of ep and etp that belong to one dense axis. It is the whole axis if none of its atoms is in edp: parts
  // of one rank do not matter. It is also the whole axis if a part of its split cannot be gathered separately, as with
  // zigzag order. Then each rank of edp keeps a part in block order.
  struct Part {
    AxisSet axes;
    AxisSet cut;  // atoms of edp that split the gathered value again
    State from;   // state of x
    Order order;  // order of a split
  };

  Builder& b_;
  std::vector<Part> parts_;  // innermost first
};

}  // namespace megalith
