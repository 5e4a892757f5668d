// An error about ranks that differ says in what.
#include "train/agreed.h"

#include <gtest/gtest.h>

#include "options_helpers.h"
#include "tests/error_of.h"
#include "tests/harness/thread_ranks.h"

namespace megalith {
namespace {

// Ranks 0 and 1 agree, rank 2 differs.
std::string error_among(const std::function<Agreed(bool other)>& agreed) {
  return error_of([&] { harness::run_ranks(3, [&](Ranks& r) { check_agreement(r, {agreed(r.rank() == 2)}); }); });
}

TEST(Agreed, FlagsThatDifferAreNamed) {
  const std::string error = error_among([](bool other) {
    Options o;
    o.train.seed = 7;
    if (other) o.optimizer.lr = 0.5, o.train.save = "two words";
    return agreed_flags(o);
  });
  EXPECT_NE(error.find("the flags here differ from rank 0's (lr: 0.0 there, 0.5 here; save: None there, two words "
                       "here): start the same program with the same flags on every host"),
            error.npos)
      << error;
}

TEST(Agreed, PlansForOtherThreadsNameThem) {
  const std::string error = error_among([](bool other) {
    Agreed out{.what = "the plans", .text = other ? "a" : "b"};
    out.values = other ? "threads 3" : "threads 4";
    return out;
  });
  EXPECT_NE(error.find("the plans here differ from rank 0's (threads: 4 there, 3 here): "), error.npos) << error;
}

TEST(Agreed, WithoutValuesNothingIsNamed) {
  const std::string error = error_among([](bool other) { return Agreed{"the texts", other ? "a" : "b", "mend it"}; });
  EXPECT_NE(error.find("the texts here differ from rank 0's: mend it"), error.npos) << error;
}

}  // namespace
}  // namespace megalith
