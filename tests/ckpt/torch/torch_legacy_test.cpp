#include "ckpt/any_checkpoint.h"
#include "ckpt/torch/torch_zip_writer.h"
#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

// Dicts of which each holds the next 64 times: few bytes, and 64^4 names to whoever walks them.
TEST(TorchLegacy, refuses_dicts_that_are_named_without_end) {
  const auto key = [](int i) { return fmt::format("X\x02{}{}{}{}", '\0', '\0', '\0', fmt::format("{:02}", i)); };
  std::string inner = "N";
  for (int level = 0; level < 4; ++level) {  // a dict whose values are one memo entry
    std::string dict = "}(";
    for (int i = 0; i < 64; ++i) dict += key(i) + (i == 0 ? inner + "q" + char(level) : std::string("h") + char(level));
    inner = dict + "u";
  }
  const std::string model = std::string("X\x05\0\0\0model", 10);
  TempDir dir;
  fs::create_directories(dir / "iter_0000001/mp_rank_00");
  spit(dir / "iter_0000001/mp_rank_00/model_optim_rng.pt",
       torch_archive("\x80\x02}" + model + inner + "s.", "archive"));
  expect_error([&] { open_any_checkpoint(dir.path()); }, "its model has more than 1048576 entries");
}

}  // namespace
}  // namespace megalith
