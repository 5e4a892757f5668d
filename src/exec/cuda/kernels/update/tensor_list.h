// Kernels that process many tensors in one launch. Every tensor is cut into chunks, and a block takes one chunk. So
// small and large tensors together fill a GPU. The list is passed by value as a kernel parameter; a longer list takes
// several launches.
#pragma once
#include <span>

#include "exec/cuda/device.h"

namespace megalith::cuda {

// Item: a struct with `n`, its number of elements, and pointers.
template <class Item, int kMost>
struct TensorList {
  int count = 0;
  i64 first[kMost];  // chunk of each tensor's start
  Item items[kMost];
};

constexpr i64 chunks_of(i64 n, i64 chunk) { return (n + chunk - 1) / chunk; }

template <int kMost, class Item, class F>
void for_lists_of(std::span<const Item> items, i64 chunk, F&& f) {
  TensorList<Item, kMost> list;
  i64 blocks = 0;
  const auto flush = [&] {
    if (list.count > 0) f(list, int(blocks));
    list.count = 0, blocks = 0;
  };
  for (const Item& item : items) {
    if (item.n == 0) continue;
    list.first[list.count] = blocks, list.items[list.count++] = item;
    blocks += chunks_of(item.n, chunk);
    if (list.count == kMost) flush();
  }
  flush();
}

// Calls f(list, blocks) for lists that together hold all tensors with elements, in order. Kernel parameters are limited
// to 32764 bytes; a list of a few tensors has small ones.
template <class Item, class F>
void for_lists(std::span<const Item> items, i64 chunk, F&& f) {
  constexpr int kFew = 4, kMany = 32000 / int(sizeof(Item) + sizeof(i64));
  if (items.size() <= kFew)
    for_lists_of<kFew>(items, chunk, f);
  else
    for_lists_of<kMany>(items, chunk, f);
}

}  // namespace megalith::cuda
