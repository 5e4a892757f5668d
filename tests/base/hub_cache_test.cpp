// The hub's local cache.
#include "base/hub_cache.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

namespace megalith {

namespace fs = std::filesystem;

TEST(HubCache, is_where_the_hub_says) {
  std::map<std::string, std::string> set;
  const auto folder = [&] {
    return hub_cache_folder([&](const char* name) { return set.contains(name) ? set[name].c_str() : nullptr; });
  };
  EXPECT_EQ(folder(), "");
  set["HOME"] = "/home/u";
  EXPECT_EQ(folder(), "/home/u/.cache/huggingface/hub");
  set["XDG_CACHE_HOME"] = "/c";
  EXPECT_EQ(folder(), "/c/huggingface/hub");
  set["HF_HOME"] = "/h";
  EXPECT_EQ(folder(), "/h/hub");
  set["HF_HUB_CACHE"] = "/x";
  EXPECT_EQ(folder(), "/x");
}

TEST(HubCache, names) {
  for (const char* name : {"gpt2", "meta-llama/Llama-3.1-8B", "a/b_c.d"}) EXPECT_TRUE(is_hub_name(name)) << name;
  for (const char* name : {"", "/a", "a/", "a/b/c", "../a", "a/..", ".a/b", "a b/c", "a--b/c", "./a", "data/text.idx",
                           "a.json", "a/b.npy"})
    EXPECT_FALSE(is_hub_name(name)) << name;
}

TEST(HubCache, main_leads_to_its_snapshot) {
  const fs::path cache = fs::path(testing::TempDir()) / "hub_cache_test";
  fs::remove_all(cache);
  const fs::path model = cache / "models--org--name";
  EXPECT_EQ(hub_snapshot(cache, "org/name"), "");
  fs::create_directories(model / "refs");
  fs::create_directories(model / "snapshots" / "0123abc");
  EXPECT_EQ(hub_snapshot(cache, "org/name"), "");
  std::ofstream(model / "refs" / "main") << "0123abc";
  EXPECT_EQ(hub_snapshot(cache, "org/name"), model / "snapshots" / "0123abc");
  std::ofstream(model / "refs" / "main") << "../../..";
  EXPECT_EQ(hub_snapshot(cache, "org/name"), "");
  fs::remove_all(cache);
}

}  // namespace megalith
