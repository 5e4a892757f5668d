#include "models/retro/chunks.h"

#include <array>

#include "ops/cut.h"
#include "ops/reshape.h"
#include "ops/scale.h"
#include "ops/sum.h"

namespace megalith {

Chunks chunks_of(const ModelConfig& c, i64 batch) {
  return {.m = c.retro.chunk_length,
          .l = c.seq_length / c.retro.chunk_length,
          .b = batch,
          .k = c.retro.num_neighbors,
          .n = c.retro.retrieved_length()};
}

Value chunk_rows(Parts& p) {
  const i64 chunks = chunks_of(p.config, p.mode.batch).chunks();
  return p.b.leaf({"chunk_rows" + p.suffix, {DType::i64, {chunks}, {{{{groups::data}}}, {}, {}, {}}}});
}

// A sum over no letter: it reorders dims.
static Value reorder(Builder& b, const std::string& spec, Value x) { return b.add1(Sum{spec, b.type(x).dtype}, {x}); }

// Splits a dim in two, outer x inner. Ranks that split it then split the outer one, also if that has size 1.
static Value cut_dim(Builder& b, const std::string& spec, std::array<std::pair<char, i64>, 2> sizes, size_t dim,
                     Value x) {
  Type to = b.type(x);
  to.shape[dim] = sizes[0].second;
  to.shape.insert(to.shape.begin() + std::ptrdiff_t(dim) + 1, sizes[1].second);
  to.layout.dims.insert(to.layout.dims.begin() + std::ptrdiff_t(dim) + 1, AxisList{});
  return b.add1(Reshape{spec, {sizes.begin(), sizes.end()}, {to}}, {x});
}

Value to_chunks(Builder& b, const Chunks& z, const std::string& rest, Value x) {
  x = b.add1(Reshape{"(lm)b" + rest + "->lmb" + rest, {{'l', z.l}, {'m', z.m}}, {}}, {x});
  x = reorder(b, "lmb" + rest + "->mbl" + rest, x);
  return b.add1(Reshape{"mbl" + rest + "->m(bl)" + rest, {}, {}}, {x});
}

Value from_chunks(Builder& b, const Chunks& z, const std::string& rest, Value x) {
  x = cut_dim(b, "m(bl)" + rest + "->mbl" + rest, {{{'b', z.b}, {'l', z.l}}}, 1, x);
  x = reorder(b, "mbl" + rest + "->lmb" + rest, x);
  return b.add1(Reshape{"lmb" + rest + "->(lm)b" + rest, {}, {}}, {x});
}

Value join_neighbors(Builder& b, const Chunks& z, const std::string& rest, Value x) {
  x = cut_dim(b, "n(ck)" + rest + "->nck" + rest, {{{'c', z.chunks()}, {'k', z.k}}}, 1, x);
  x = reorder(b, "nck" + rest + "->nkc" + rest, x);
  return b.add1(Reshape{"nkc" + rest + "->(nk)c" + rest, {}, {}}, {x});
}

Value part_neighbors(Builder& b, const Chunks& z, const std::string& rest, Value x) {
  x = cut_dim(b, "(nk)c" + rest + "->nkc" + rest, {{{'n', z.n}, {'k', z.k}}}, 0, x);
  x = reorder(b, "nkc" + rest + "->nck" + rest, x);
  return b.add1(Reshape{"nck" + rest + "->n(ck)" + rest, {}, {}}, {x});
}

Value move_ahead(Builder& b, const Chunks& z, Value x) {
  const i64 by = z.m - 1, rest = z.l * z.m - by;
  if (by == 0) return x;
  const std::vector<Value> parts = b.add(Cut{"sbgrd", 's', by, rest}, {x});
  return b.add1(Join{"sbgrd", 's', rest, by}, {parts[1], parts[0]});
}

Value move_back(Builder& b, const Chunks& z, Value x) {
  const i64 by = z.m - 1, rest = z.l * z.m - by;
  if (by == 0) return x;
  const std::vector<Value> parts = b.add(Cut{"sbgrd", 's', rest, by}, {x});
  return b.add1(Join{"sbgrd", 's', by, rest}, {b.add1(Scale{5, 0}, {parts[1]}), parts[0]});
}

}  // namespace megalith
