#include "tests/exec_cuda_ranks/relayout_batch.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "ops/scale.h"

namespace megalith::harness {

namespace {

// What a buffer holds of numbers, which may be rounded.
Blocks rounded(DType dtype, Blocks blocks) {
  for (auto& block : blocks) {
    std::vector<std::byte> bytes(block.size() * size_t(size_of(dtype)));
    to_bytes(dtype, block, bytes.data());
    block = from_bytes(dtype, bytes.data(), i64(block.size()));
  }
  return blocks;
}

}  // namespace

RelayoutBatch::RelayoutBatch(const Mesh& mesh, std::vector<RelayoutCase> cases, cuda::Device& device) {
  graph_.mesh = mesh;
  Builder b(graph_);
  std::vector<std::pair<size_t, std::vector<Value>>> begun;
  for (size_t i = 0; i < cases.size(); ++i) {
    const RelayoutCase& c = cases[i];
    Value x = b.leaf({fmt::format("x{}", i), c.from});
    if (c.in_place) x = b.add1(Scale{c.from.ndim(), 1}, {x});
    const Value y = b.relayout(x, c.axes, c.to, c.order, c.rotated);
    Relayout op = *graph_.nodes.back().op.get_if<Relayout>();
    op.lane = c.lane;
    graph_.nodes.back().op = op;
    graph_.outputs[fmt::format("y{}", i)] = y;
    if (c.lane) begun.push_back({i, {y, x}});
  }
  for (const auto& [i, values] : begun) graph_.outputs[fmt::format("y{}", i)] = b.add1(Wait{}, values);
  verify(graph_);
  plan_ = plan_memory(mesh, {{"graph", &graph_, {Phase::forward}}},
                      [&](const Graph& g, const Node& n) { return cuda::workspace_bytes(device, g, n); });
  const auto is_float = [](DType t) { return t != DType::i32; };
  for (size_t i = 0; i < cases.size(); ++i) {
    const RelayoutCase& c = cases[i];
    Row row{c, nullptr, b.type(graph_.outputs.at(fmt::format("y{}", i))), {}, {}};
    const Tensor logical =
        is_float(c.from.dtype) ? random_tensor(c.from.shape, i) : random_integers(c.from.shape, 1000, i);
    Blocks held = place(mesh, c.from, logical);
    if (!c.from.layout.max.empty())
      for (size_t r = 0; r < held.size(); ++r)
        for (size_t k = 0; k < held[r].size(); ++k) held[r][k] += normal(mix_all(5, r, k));
    row.held = rounded(c.from.dtype, std::move(held));
    int seen = -1;
    for (const Node& n : graph_.nodes)
      if (const auto* op = n.op.get_if<Relayout>(); op && ++seen == int(i)) row.op = op;
    row.want = move(mesh, *row.op, c.from, row.to, row.held);
    rows_.push_back(std::move(row));
  }
}

std::string RelayoutBatch::name_of(const Row& row) const {
  return fmt::format("{} over {} to {}, lane {}{}", to_string(row.what.from), to_string(row.what.axes),
                     to_string(row.what.to), row.what.lane, row.what.in_place ? ", in place" : "");
}

void RelayoutBatch::fill(cuda::Executor& executor, int rank) const {
  for (size_t i = 0; i < rows_.size(); ++i) {
    const auto& block = rows_[i].held[size_t(rank)];
    std::vector<std::byte> bytes(block.size() * size_t(size_of(rows_[i].what.from.dtype)));
    to_bytes(rows_[i].what.from.dtype, block, bytes.data());
    cuda::check_cuda(cudaMemcpyAsync(executor.leaf(plan_.leaf(fmt::format("x{}", i))), bytes.data(), bytes.size(),
                                     cudaMemcpyHostToDevice, executor.device().stream()),
                     "test");
    cuda::check_cuda(cudaStreamSynchronize(executor.device().stream()), "test");
  }
}

void RelayoutBatch::expect(cuda::Executor& executor, int rank) const {
  cuda::check_cuda(cudaStreamSynchronize(executor.device().stream()), "test");
  for (size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const DType dtype = row.what.from.dtype;
    const auto& want = row.want[size_t(rank)];
    std::vector<std::byte> bytes(want.size() * size_t(size_of(dtype)));
    cuda::check_cuda(cudaMemcpy(bytes.data(), executor.buffer(0, plan_.programs[0].outputs.at(fmt::format("y{}", i))),
                                bytes.size(), cudaMemcpyDeviceToHost),
                     "test");
    const auto got = from_bytes(dtype, bytes.data(), i64(want.size()));
    // A rounding for each term that is added, of a partial sum below 16.
    const double unit = dtype == DType::bf16 ? 0x1p-9 : dtype == DType::f32 ? 0x1p-24 : 0x1p-53;
    const bool adds = row.op->transfer == Transfer::all_reduce || row.op->transfer == Transfer::reduce_scatter;
    const double error = adds ? unit * 16 * graph_.mesh.n(row.what.axes) : 0;
    for (size_t k = 0; k < want.size(); ++k)
      ASSERT_NEAR(got[k], want[k], error) << name_of(row) << " rank " << rank << " element " << k;
  }
}

std::vector<RelayoutCase> every_row(DType dtype) {
  const std::vector<std::pair<State, State>> rows = {
      {kSame, kCopy},       {kCopy, kSame},       {kPartial, kSame},    {kPartial, kCopy},    {kPartial, split(0)},
      {kPartial, split(1)}, {kPartial, split(2)}, {split(0), kCopy},    {split(1), kSame},    {split(2), kCopy},
      {kSame, split(1)},    {kCopy, split(0)},    {split(0), split(1)}, {split(2), split(0)}, {split(1), split(2)},
      {split(0), kPartial}, {split(2), kPartial}, {kSame, kPartial},    {kCopy, kPartial},    {kMax, kSame}};
  std::vector<RelayoutCase> out;
  for (const auto& [from, to] : rows) {
    if (dtype == DType::i32 && (from == kPartial || to == kPartial)) continue;
    Layout l = whole(3);
    l.dims[0].add({groups::context, Order::zigzag}), l.dims[1].add({groups::data});
    if (from.is_split()) l.dims[from.dim].add({groups::tensor});
    if (from == kPartial) l.partial.insert(groups::tensor);
    if (from == kCopy) l.copy.insert(groups::tensor);
    if (from == kMax) l.max.insert(groups::tensor);
    const Type type{dtype, {16, 8, 16}, l};
    for (const int lane : {0, 1, 3}) out.push_back({type, groups::tensor, to, Order::block, lane});
    if (dtype != DType::i32 && from != kMax) out.push_back({type, groups::tensor, to, Order::block, 0, true});
  }
  return out;
}

std::vector<RelayoutCase> zigzags(DType dtype) {
  Type zigzag = {dtype, {24, 6}, {{{{groups::context, Order::zigzag}}, {}}, {}, {}, {}}}, block = zigzag, part = zigzag;
  block.layout.dims[0] = {{groups::context}};
  part.layout.dims[0].clear(), part.layout.partial = {groups::context};
  Type columns{dtype, {5, 48}, {{{}, {{groups::context, Order::zigzag}}}, {}, {}, {}}};
  std::vector<RelayoutCase> out;
  for (const int lane : {0, 2}) {
    out.push_back({zigzag, {groups::context}, kCopy, Order::block, lane});
    out.push_back({columns, {groups::context}, kCopy, Order::block, lane});
    out.push_back({zigzag, {groups::context}, split(0), Order::block, lane});
    out.push_back({block, {groups::context}, split(0), Order::zigzag, lane});
    out.push_back({zigzag, {groups::context}, kPartial, Order::block, lane});
    out.push_back({part, {groups::context}, split(0), Order::zigzag, lane});
  }
  return out;
}

std::vector<RelayoutCase> rotations(DType dtype, int ranks) {
  std::vector<RelayoutCase> out;
  for (const Order order : {Order::block, Order::zigzag})
    for (const int dim : {0, 1})
      for (int from = 0; from < ranks; ++from)
        for (int to = 0; to < ranks; ++to)
          for (const int lane : {0, 4}) {
            Layout l = whole(2);
            l.dims[size_t(dim)] = {{groups::context, order, from}};
            if (from != to)
              out.push_back({{dtype, {24, 48}, l}, {groups::context}, split(dim), order, lane, false, to});
          }
  return out;
}

std::vector<RelayoutCase> odd_sums(DType dtype) {
  std::vector<RelayoutCase> out;
  for (const Shape& shape : {Shape{7}, Shape{}, Shape{1}, Shape{2, 5}, Shape{0, 3}, Shape{100003}}) {
    Type t{dtype, shape, whole(shape.size())};
    t.layout.partial = {groups::data};
    out.push_back({t, {groups::data}, kSame});
    out.push_back({t, {groups::data}, kCopy, Order::block, 1});
  }
  return out;
}

}  // namespace megalith::harness
