// Large arrays in large pages: the first access to each page costs a trap. Random accesses to an array also miss the
// TLB less.
#pragma once
#include <cstddef>
#include <vector>

namespace megalith {

// Asks Linux for huge pages inside [begin, begin + bytes), which must be untouched. It may do nothing.
void advise_huge_pages(void* begin, std::size_t bytes);

// An empty vector with room for this many elements.
template <class T>
std::vector<T> reserve_in_huge_pages(std::size_t count) {
  std::vector<T> values;
  values.reserve(count);
  advise_huge_pages(values.data(), count * sizeof(T));
  return values;
}

}  // namespace megalith
