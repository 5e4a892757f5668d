#include "base/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace megalith {

void advise_huge_pages(void* begin, std::size_t bytes) {
  constexpr std::uintptr_t kPage = 4096, kHuge = std::uintptr_t{2} << 20;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (address + kPage - 1) / kPage * kPage, end = (address + bytes) / kPage * kPage;
  if (end >= first + kHuge) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace megalith
