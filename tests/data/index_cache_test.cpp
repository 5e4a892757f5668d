#include <cstring>
#include <thread>

#include "data/npy.h"
#include "tests/data/small_data.h"

namespace megalith {

namespace {

// The elements of a .npy file, whose header must be that of `array`.
template <class T>
std::vector<T> array_in(const std::string& path, const NpyArray& array) {
  const std::vector<u8> bytes = read_bytes(path);
  const std::string header = npy_header(array);
  EXPECT_TRUE(bytes.size() > header.size() && std::equal(header.begin(), header.end(), (const char*)bytes.data()))
      << path;
  std::vector<T> values((bytes.size() - std::min(bytes.size(), header.size())) / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data() + header.size(), values.size() * sizeof(T));
  return values;
}

}  // namespace

TEST(IndexCache, is_written_with_megatrons_names_and_read_again) {
  const TempDir dir;
  DataConfig config = config_in(dir);
  config.data_cache_path = dir / "cache/deep";
  const Datasets built = build_datasets(config, {.train = 12});
  std::string shuffle;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(config.data_cache_path)) {
    ++files;
    const std::string name = entry.path().filename();
    EXPECT_TRUE(has(name, "-GPTDataset-train-")) << name;
    if (has(name, "shuffle_index.npy")) shuffle = entry.path();
  }
  EXPECT_EQ(files, 4);
  const std::vector<u8> bytes = read_bytes(shuffle);
  ASSERT_EQ(bytes.size(), 128u + 4 * 21);
  EXPECT_EQ(std::string(bytes.begin() + 10, bytes.begin() + 68),
            "{'descr': '<u4', 'fortran_order': False, 'shape': (21,), }");
  // Changes a cached file, and checks that the next run reads the change.
  const auto second = get_row(*built.train, 1).tokens, sixth = get_row(*built.train, 5).tokens;
  std::vector<u8> changed = bytes;
  std::swap_ranges(changed.begin() + 128, changed.begin() + 132, changed.begin() + 132);
  write_bytes(shuffle, changed);
  const Datasets loaded = build_datasets(config, {.train = 12});
  EXPECT_EQ(get_row(*loaded.train, 0).tokens, second);
  EXPECT_EQ(get_row(*loaded.train, 5).tokens, sixth);
}

// Compares all files of a cache with the vector: names, descriptions, arrays.
TEST(IndexCache, of_a_blend_equals_megatrons_byte_for_byte) {
  for (const std::string& file : golden_vectors("gpt_blend_full.json")) {
    SCOPED_TRACE(file);
    const TempDir dir;
    const Json all = read_json(file);
    const auto previous = std::filesystem::current_path();
    write_blend_files(dir, all["weighted"]);
    std::filesystem::current_path(dir.path());  // the prefixes are in the names
    for (const char* kind : {"weighted", "unweighted"}) {
      const Json& v = all[kind];
      DataConfig config{.split = "100,0,0",
                        .seed = 1234,
                        .seq_length = 8,
                        .vocab_size = 5000,
                        .data_cache_path = dir / kind,
                        .tokenizer_arguments = {{"vocab_size", "5000"}}};
      for (std::size_t d = 0; d < 3; ++d) {
        if (!v["weights_in"].is_null()) config.data_path.push_back(fmt::format("{}", v["weights_in"][d].get<double>()));
        config.data_path.push_back(all["weighted"]["blend"][d]);
      }
      for (int run = 0; run < 2; ++run) {  // the second run reads the files of the first
        const Datasets sets = build_datasets(config, {.train = 20});
        ASSERT_EQ(sets.train->size(), 20);
        for (std::size_t i = 0; i < all["weighted"]["first_tokens"].size() && kind == std::string("weighted"); ++i)
          EXPECT_EQ(get_row(*sets.train, i64(i)).tokens, v["first_tokens"][i].get<std::vector<i32>>()) << i;
      }
      const std::string stem = fmt::format("{}/{}-BlendedDataset-train-", dir / kind, v["hash"].get<std::string>());
      EXPECT_EQ(array_in<std::int16_t>(stem + "dataset_index.npy", {"<i2", 20, 0}),
                v["dataset_index"].get<std::vector<std::int16_t>>());
      EXPECT_EQ(array_in<i64>(stem + "dataset_sample_index.npy", {"<i8", 20, 0}),
                v["dataset_sample_index"].get<std::vector<i64>>());
      const std::vector<u8> text = read_bytes(stem + "description.txt");
      if (v.contains("unique_description")) {
        EXPECT_EQ(std::string(text.begin(), text.end()), v["unique_description"].get<std::string>());
      }
      for (const Json& part : v["parts"]) {
        const std::string name = fmt::format("{}/{}-GPTDataset-train-", dir / kind, part["hash"].get<std::string>());
        EXPECT_TRUE(std::filesystem::exists(name + "description.txt")) << name;
        if (!part.contains("document_index")) continue;
        const auto documents = part["document_index"].get<std::vector<i32>>();
        EXPECT_EQ(array_in<i32>(name + "document_index.npy", {"<i4", i64(documents.size()), 0}), documents);
        const auto shuffle = part["shuffle_index"].get<std::vector<u32>>();
        EXPECT_EQ(array_in<u32>(name + "shuffle_index.npy", {"<u4", i64(shuffle.size()), 0}), shuffle);
        std::vector<i32> cuts;
        for (const Json& cut : part["sample_index"]) cuts.push_back(cut[0]), cuts.push_back(cut[1]);
        EXPECT_EQ(array_in<i32>(name + "sample_index.npy", {"<i4", i64(cuts.size() / 2), 2}), cuts);
      }
      EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir / kind), {}), 3 + 3 * 4);
    }
    std::filesystem::current_path(previous);
  }
}

TEST(IndexCache, several_builders_at_once_do_no_harm) {
  const TempDir dir;
  DataConfig config = config_in(dir);
  config.data_cache_path = dir / "cache";
  config.data_path = {"1", dir / "a", "2", dir / "a", "1", dir / "a"};  // also if one blend has the same index twice
  const Datasets plain = build_datasets(config, {.train = 12});
  std::filesystem::remove_all(config.data_cache_path);
  std::vector<std::thread> builders;
  std::array<Datasets, 6> sets;
  for (Datasets& mine : sets) builders.emplace_back([&] { mine = build_datasets(config, {.train = 12}); });
  for (std::thread& b : builders) b.join();
  for (const Datasets& mine : sets)
    for (i64 i = 0; i < plain.train->size(); ++i)
      EXPECT_EQ(get_row(*mine.train, i).tokens, get_row(*plain.train, i).tokens);
  for (const auto& entry : std::filesystem::directory_iterator(config.data_cache_path))
    EXPECT_FALSE(has(entry.path().filename(), "partial")) << entry.path();
}

TEST(IndexCache, damaged_and_stale_files_are_built_again) {
  const TempDir dir;
  DataConfig config = config_in(dir);
  const Datasets plain = build_datasets(config, {.train = 12});
  config.data_cache_path = dir / "cache";
  build_datasets(config, {.train = 12});
  const auto same = [&] {
    const Datasets sets = build_datasets(config, {.train = 12});
    for (i64 i = 0; i < 21; ++i) EXPECT_EQ(get_row(*sets.train, i).tokens, get_row(*plain.train, i).tokens);
  };
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(config.data_cache_path))
    if (entry.path().extension() == ".npy") files.push_back(entry.path());
  for (const std::string& file : files) {
    const std::vector<u8> whole = read_bytes(file);
    for (std::size_t n : {std::size_t{0}, std::size_t{5}, std::size_t{100}, whole.size() - 1}) {
      write_bytes(file, std::vector<u8>(whole.begin(), whole.begin() + n));
      same();
    }
    std::vector<u8> wild = whole;
    std::fill(wild.begin() + 128, wild.end(), 0xfe);
    write_bytes(file, wild);
    same();
    EXPECT_EQ(read_bytes(file), whole);
  }
  // Other data with the same name and matching sizes: the index is still stale, because it is older than the data.
  for (const std::string& file : files)
    std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) - std::chrono::hours(1));
  std::vector<i64> moved = kLengths;
  ++moved[0], --moved[1];
  write_rule_files(dir / "a", moved);
  const Datasets fresh = build_datasets(config, {.train = 12});
  config.data_cache_path.clear();
  const Datasets expected = build_datasets(config, {.train = 12});
  for (i64 i = 0; i < 21; ++i) EXPECT_EQ(get_row(*fresh.train, i).tokens, get_row(*expected.train, i).tokens);
}

TEST(IndexCache, one_that_cannot_be_written_is_no_obstacle) {
  const TempDir dir;
  DataConfig config = config_in(dir);
  config.data_cache_path = dir / "a.idx/cache";  // a path below a file
  EXPECT_EQ(build_datasets(config, {.train = 12}).train->size(), 21);
}

TEST(Npy, header_is_a_multiple_of_64) {
  for (i64 rows : {0, 1, 99999999})
    for (i64 columns : {0, 2}) EXPECT_EQ(npy_header({"<i4", rows, columns}).size() % 64, 0u);
  EXPECT_EQ(npy_header({"<i4", 24, 0}).substr(10, 58), "{'descr': '<i4', 'fortran_order': False, 'shape': (24,), }");
}

}  // namespace megalith
