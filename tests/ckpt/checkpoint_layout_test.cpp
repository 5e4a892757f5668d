// Errors in a checkpoint's manifest.
#include "ckpt/native/checkpoint_layout.h"

#include <sys/resource.h>
#include <unistd.h>

#include <new>

#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

i64 address_space() {
  i64 pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

TEST(Manifest, that_does_not_fit_the_memory_is_not_called_damaged) {
  if (address_space() > i64{1} << 40) GTEST_SKIP() << "a sanitizer has taken all addresses";
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const std::string text = R"({"format": ")" + std::string(std::size_t{64} << 20, 'x') + R"("})";
  const auto parse = [&] {
    const auto most = rlim_t(address_space() + (i64{16} << 20));
    const rlimit limit{most, most};
    ::setrlimit(RLIMIT_AS, &limit);
    try {
      parse_manifest(text, "manifest.json");
    } catch (const std::bad_alloc&) {
      ::_exit(7);
    } catch (const Error&) {
      ::_exit(8);
    }
    ::_exit(0);
  };
  EXPECT_EXIT(parse(), ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace megalith
