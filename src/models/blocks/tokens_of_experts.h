// The way of tokens to experts and back, by relayouts alone: what is split over the stream's axes [s,b,..] is gathered
// over ep and etp. A sum over them comes back to where the stream is.
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
  // The axes of ep and etp that are of one dense axis. Where that has no part in edp, all of it: parts of one rank come
  // and go with the others. All of it too where a part of its split can't go alone, as of a zigzag. Then each rank of
  // edp keeps a share in block order.
  struct Part {
    AxisSet axes;
    AxisSet cut;  // those of edp that are split anew
    State from;   // x's
    Order order;  // of a split
  };

  Builder& b_;
  std::vector<Part> parts_;  // the innermost first
};

}  // namespace megalith
