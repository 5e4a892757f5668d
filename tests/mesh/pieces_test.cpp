#include "mesh/pieces.h"

#include <gtest/gtest.h>

namespace megalith {

// What GPUs need no workspace for.
TEST(Pieces, a_block_that_rotates_is_one_message_on_every_rank) {
  for (int ranks : {2, 3, 4, 8})
    for (Order order : {Order::block, Order::zigzag})
      for (int rotated = 0; rotated < ranks; ++rotated)
        for (int to = 0; to < ranks; ++to) {
          const Mesh mesh = make_mesh({1, ranks, 2, 1});
          const Shape shape = {4 * i64(ranks), 3, 4, 5};
          Layout before = whole(4);
          before.dims[0] = {{groups::context, order, rotated}}, before.dims[2] = {{groups::kv_heads}};
          Layout after = before;
          after.dims[0] = {{groups::context, order, (rotated + 1) % ranks}};
          const auto at = [&](const Layout& l, int cp) {
            return block_of(mesh, shape, l, mesh.at(mesh.coord(1), groups::context, cp));
          };
          const auto boxes = common_boxes(at(before, (to + ranks - 1) % ranks), at(after, to));
          EXPECT_EQ(elements(boxes), 4 * 3 * 2 * 5);
          EXPECT_TRUE(is_message_from(boxes) && is_message_to(boxes)) << ranks << " " << rotated << " " << to;
        }
}

}  // namespace megalith
