// An indexed dataset. The input is the length of the .idx (16 bits, low byte first), the .idx, and the .bin. If the
// dataset opens, the target reads all of it, by sequence and as samples.
#include <unistd.h>

#include <filesystem>

#include "data/gpt_dataset.h"
#include "data/indexed_dataset.h"
#include "data/indexed_dataset_writer.h"
#include "fuzz/target.h"
#include "fuzz/tools.h"

namespace megalith::fuzz::indexed {

namespace {

void read_sequences(const IndexedDataset& data) {
  i64 tokens = 0, end = 0;
  for (i64 s = 0; s < data.sequences(); ++s) {
    std::vector<i32> all(std::size_t(data.length(s)));
    data.read(s, 0, all);
    tokens += data.length(s);
  }
  expect(tokens == data.tokens(), "lengths do not add up");
  for (i64 d = 0; d <= data.documents(); ++d) {
    expect(data.document_begin(d) >= end, "documents run backwards");
    end = data.document_begin(d);
  }
  expect(end == data.sequences(), "sequences outside documents");
}

void read_samples(const std::shared_ptr<const IndexedDataset>& data) {
  constexpr i64 kLength = 7;
  const GptIndexRequest request{.sequences = {0, data->sequences()}, .samples = 20, .seq_length = kLength};
  if (data->tokens() > 0) expect(data->sequences() > 0, "tokens without sequences");
  const GptDataset samples(data, build_gpt_index(*data, request), {.seq_length = kLength, .vocab_size = 1000});
  Batch row;
  row.sequences = 1;
  for (const SampleArray& array : samples.arrays()) row.arrays[array.name] = empty_array(array, row.sequences);
  for (i64 i = 0; i < std::min<i64>(samples.size(), 100); ++i) samples.get(i, {row, 0});
}

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

void feed(std::string_view input, const std::string& scratch) {
  if (input.size() < 2) return;
  const std::size_t size = std::min<std::size_t>(u8(input[0]) + 256 * u8(input[1]), input.size() - 2);
  write(scratch + ".idx", input.substr(2, size));
  write(scratch + ".bin", input.substr(2 + size));
  const auto data = std::make_shared<const IndexedDataset>(scratch);
  read_sequences(*data);
  read_samples(data);
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("megalith-seeds-{}", ::getpid());
  std::filesystem::create_directories(folder);
  for (const TokenType type : {TokenType::uint16, TokenType::int32, TokenType::uint8, TokenType::float64}) {
    IndexedDatasetWriter writer(folder / "a", type);
    writer.add_document(std::vector<i32>{1, 2, 3, 4, 5}, std::vector<i32>{5});
    writer.add_document(std::vector<i32>{6, 7, 8}, std::vector<i32>{1, 0, 2});
    writer.add_document(std::vector<i32>{}, std::vector<i32>{});
    writer.finish();
    const std::string idx = text_of(folder / "a.idx");
    all.push_back(std::string{char(idx.size() & 255), char(idx.size() >> 8)} + idx + text_of(folder / "a.bin"));
  }
  std::filesystem::remove_all(folder);
  return all;
}

}  // namespace megalith::fuzz::indexed
