#include "ckpt/tensors/mapped_tensors.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

// Tensors of consecutive numbers, which record how much of them is read.
class Counted final : public TensorReader {
 public:
  explicit Counted(const std::vector<NamedShape>& tensors) : TensorReader("counted") {
    for (const NamedShape& t : tensors) add({t.name, DType::f32, t.shape});
  }
  mutable i64 calls = 0, elements = 0;

 private:
  void do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const override {
    ++calls, elements += n;
    std::vector<float> values(static_cast<std::size_t>(n));
    std::iota(values.begin(), values.end(), float(begin + i64(tensor) * 1000));
    std::memcpy(out, values.data(), values.size() * sizeof(float));
  }
};

// Ours [out, in] and theirs [in, out] of a fused weight: three parts, each of `heads` times `width` rows.
TensorMapping fused(i64 in, i64 heads, i64 width) {
  const i64 out = 3 * heads * width;
  TensorMapping m{.theirs = {{"theirs", {in, out}}}, .ours = {{"ours", {out, in}}}, .links = {}};
  for (i64 part = 0; part < 3; ++part)  // theirs: all of q, all of k, all of v; ours: q, k, v of each head
    m.links.push_back({0,
                       0,
                       {.size = {heads, width, in},
                        .ours = {3 * width * in, in, 1},
                        .theirs = {width, 1, out},
                        .our_start = part * width * in,
                        .their_start = part * heads * width}});
  return m;
}

i64 their_element(i64 row, i64 column, i64 in, i64 heads, i64 width) {
  const i64 head = row / (3 * width), part = row / width % 3, within = row % width, out = 3 * heads * width;
  (void)in;
  return column * out + part * heads * width + head * width + within;
}

TEST(MappedTensors, transposed_both_ways_by_any_range) {
  const i64 in = 5, heads = 2, width = 3, out = 18;
  const TensorMapping m = fused(in, heads, width);
  for (const MapTo side : {MapTo::ours, MapTo::theirs}) {
    const MappedTensors mapped(std::make_shared<Counted>(side == MapTo::ours ? m.theirs : m.ours), m, side, {});
    std::vector<float> expected(static_cast<std::size_t>(in * out));
    for (i64 row = 0; row < out; ++row)
      for (i64 column = 0; column < in; ++column) {
        const i64 ours = row * in + column, theirs = their_element(row, column, in, heads, width);
        const auto [to, from] = side == MapTo::ours ? std::pair(ours, theirs) : std::pair(theirs, ours);
        expected[std::size_t(to)] = float(from);
      }
    for (i64 begin = 0; begin < in * out; ++begin)
      for (i64 n = 1; begin + n <= in * out; n += 7) {
        std::vector<float> read(static_cast<std::size_t>(n));
        mapped.read_range(0, begin, n, std::as_writable_bytes(std::span(read)).data());
        ASSERT_TRUE(std::equal(read.begin(), read.end(), expected.begin() + begin)) << begin << " " << n;
      }
  }
}

// A file is read in long ranges, each part of a tensor once: not by element or column.
TEST(MappedTensors, transposed_read_the_source_once_for_each_part) {
  const i64 in = 256, heads = 8, width = 32, out = 3 * heads * width;
  const TensorMapping m = fused(in, heads, width);
  for (const MapTo side : {MapTo::ours, MapTo::theirs}) {
    const auto source = std::make_shared<Counted>(side == MapTo::ours ? m.theirs : m.ours);
    const MappedTensors mapped(source, m, side, {});
    std::vector<float> all(static_cast<std::size_t>(in * out));
    mapped.read_range(0, 0, in * out, std::as_writable_bytes(std::span(all)).data());
    const i64 stretches = side == MapTo::ours ? 3 : 3 * heads;  // of rows that follow each other
    EXPECT_EQ(source->calls, stretches);
    EXPECT_LE(source->elements, 3 * in * out);
    source->calls = source->elements = 0;  // a rank's columns
    std::vector<float> half(all.size() / 2);
    mapped.read_box_as(0, {0, 0}, {mapped.tensors()[0].shape[0], mapped.tensors()[0].shape[1] / 2}, DType::f32,
                       std::as_writable_bytes(std::span(half)));
    EXPECT_EQ(source->calls, side == MapTo::ours ? 3 : stretches / 2);
    const std::size_t wide = std::size_t(mapped.tensors()[0].shape[1]);
    for (std::size_t i = 0; i < half.size(); ++i) ASSERT_EQ(half[i], all[i / (wide / 2) * wide + i % (wide / 2)]);
  }
}

// From Hugging Face to Hugging Face: single rows are read, not the whole tensor for each few rows.
TEST(MappedTensors, transposed_twice_reads_its_own_rows) {
  const i64 in = 512, heads = 8, width = 64, out = 3 * heads * width;
  const TensorMapping m = fused(in, heads, width);
  const auto source = std::make_shared<Counted>(m.theirs);
  const MappedTensors back(std::make_shared<MappedTensors>(source, m, MapTo::ours, MappedTensors::Options{}), m,
                           MapTo::theirs, {});
  std::vector<float> rows(std::size_t(4 * out));
  for (i64 row = 0; row < in; row += 4) {
    back.read_range(0, row * out, 4 * out, std::as_writable_bytes(std::span(rows)).data());
    for (i64 i = 0; i < 4 * out; ++i) ASSERT_EQ(rows[std::size_t(i)], float(row * out + i));
  }
  // Each row once for each head of q, k and v, which are spread over the tensor.
  EXPECT_LE(source->elements, 24 * in * out);
}

}  // namespace
}  // namespace megalith
