// Memory use does not grow with the amount of data that is read.
#include <random>

#include "base/process_memory.h"
#include "data/indexed_dataset.h"
#include "tests/data/data_test_util.h"

namespace megalith {
namespace {

// Growth of the process's memory in bytes during reads at many positions of this many documents.
i64 growth(i64 documents, i64 tokens) {
  const TempDir dir;
  {
    IndexedDatasetWriter writer(dir / "a", TokenType::uint16);
    const std::vector<i32> all(std::size_t(tokens), 7), lengths{i32(tokens)};
    for (i64 d = 0; d < documents; ++d) writer.add_document(all, lengths);
    writer.finish();
  }
  const IndexedDataset data(dir / "a");
  std::vector<i32> few(16);
  data.read(0, 0, few);
  const i64 before = resident_bytes();
  i64 most = before;
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    data.read(i64(random() % u64(documents)), i64(random() % u64(tokens - 15)), few);
    if (i % 50 == 0) most = std::max(most, resident_bytes());
  }
  return most - before;
}

constexpr i64 kBeside = i64{512} << 10;  // allowance for pages of other code

}  // namespace

TEST(DatasetMemory, tokens_that_were_read_are_not_kept) {
  EXPECT_LE(growth(8'000, 2'000), kBeside);  // 32 MB of tokens, 160 KB of index
}

TEST(DatasetMemory, of_a_large_index_little_is_kept) {
  EXPECT_LE(growth(800'000, 16), IndexedDataset::kKeptBytes + kBeside);  // 16 MB of index
}

}  // namespace megalith
