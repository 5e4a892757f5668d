#include "ckpt/tensors/tensor_table.h"

#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

TEST(TensorTable, tells_how_another_model_differs) {
  const std::vector<NamedShape> found = {{"w", {3, 4}}, {"h", {5}}, {"none", {0, 3}}, {"scalar", {}}};
  EXPECT_NO_THROW(check_same_tensors("x", found, found));
  const std::vector<NamedShape> expected = {{"w", {4, 4}}, {"new", {2}}, {"none", {0, 3}}, {"scalar", {}}};
  const std::string message = error_of([&] { check_same_tensors("[load] x", expected, found); });
  EXPECT_NE(message.find("[load] x holds another model: 1 tensors missing, 1 of another shape, 1 unexpected"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("w: [3, 4] there, [4, 4] here; new: nothing there, [2] here; h: [5] there, nothing here"),
            std::string::npos)
      << message;
}

}  // namespace
}  // namespace megalith
