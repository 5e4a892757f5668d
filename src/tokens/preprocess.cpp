#include "tokens/preprocess.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "base/check.h"
#include "base/log.h"
#include "data/indexed_dataset_writer.h"
#include "tokens/document_encoder.h"

namespace megalith {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class Progress {
 public:
  Progress(i64 log_interval, i64 total_bytes) : log_interval_(log_interval), total_bytes_(total_bytes) {}

  void add(i64 documents, i64 tokens, i64 bytes) {
    so_far_.documents += documents;
    so_far_.tokens += tokens;
    so_far_.bytes += bytes;
    so_far_.seconds = seconds_since(start_);
    if (so_far_.documents < next_documents_ || so_far_.seconds < next_seconds_) return;
    next_documents_ = so_far_.documents + log_interval_;
    next_seconds_ = so_far_.seconds + 1;
    const double rate = double(so_far_.bytes) / so_far_.seconds, left = double(total_bytes_ - so_far_.bytes) / rate;
    log::info("Processed {} documents, {} tokens ({:.0f} docs/s, {:.2f} MB/s, {:.2f} M tokens/s){}", so_far_.documents,
              so_far_.tokens, double(so_far_.documents) / so_far_.seconds, rate / 1e6,
              double(so_far_.tokens) / so_far_.seconds / 1e6, left >= 1 ? fmt::format(", {:.0f} s left", left) : "");
  }

  PreprocessResult result() const { return so_far_; }

 private:
  i64 log_interval_, total_bytes_;
  i64 next_documents_ = 0;
  double next_seconds_ = 1;
  Clock::time_point start_ = Clock::now();
  PreprocessResult so_far_;
};

void write(const EncodedDocuments& documents, IndexedDatasetWriter& writer) {
  std::span<const i32> tokens = documents.tokens, lengths = documents.lengths;
  for (i32 sequences : documents.sequences) {
    const std::span<const i32> mine = lengths.first(size_t(sequences));
    const size_t count = std::accumulate(mine.begin(), mine.end(), size_t{0});
    writer.add_document(tokens.first(count), mine);
    tokens = tokens.subspan(count);
    lengths = lengths.subspan(size_t(sequences));
  }
}

// Workers take chunks in turn, encode them side by side, and write them in the order of the turns. An error waits for
// its turn too, so the first one in the input is the one that is told.
class Pipeline {
 public:
  Pipeline(const PreprocessConfig& config, const Tokenizer& tokenizer)
      : config_(config),
        tokenizer_(tokenizer),
        reader_(config.input, config.split_lines, JsonObject::kPadding),
        progress_(config.log_interval, reader_.total_bytes()) {
    for (const std::string& key : config.json_keys) {
      writers_.push_back(std::make_unique<IndexedDatasetWriter>(config.output_prefix + "_" + key + "_document",
                                                                token_type_for_vocab(tokenizer.vocab_size())));
    }
  }

  PreprocessResult run() {
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < config_.workers; ++i) threads.emplace_back([this] { work(); });
    }
    if (failure_) std::rethrow_exception(failure_);
    for (auto& writer : writers_) writer->finish();
    return progress_.result();
  }

 private:
  void work() {
    DocumentEncoder encoder(tokenizer_, config_.json_keys, config_.append_eod ? tokenizer_.eod() : Tokenizer::kNone);
    InputChunk chunk;
    std::vector<EncodedDocuments> encoded;
    for (;;) {
      i64 turn = 0;
      std::exception_ptr error;
      try {
        const std::scoped_lock lock(input_mutex_);
        turn = turns_taken_++;
        if (!reader_.next(chunk)) return;
      } catch (...) {
        error = std::current_exception();
      }
      try {
        if (!error) encoder.encode(chunk, encoded);
      } catch (...) {
        error = std::current_exception();
      }
      if (!finish_turn(turn, error, chunk, encoded)) return;
    }
  }

  // Writes when the turn has come; false if the run has failed.
  bool finish_turn(i64 turn, std::exception_ptr error, const InputChunk& chunk,
                   const std::vector<EncodedDocuments>& encoded) {
    std::unique_lock lock(output_mutex_);
    turn_changed_.wait(lock, [&] { return turns_done_ == turn || failure_; });
    if (failure_) return false;
    try {
      if (error) std::rethrow_exception(error);
      i64 tokens = 0;
      for (size_t k = 0; k < encoded.size(); ++k) {
        write(encoded[k], *writers_[k]);
        tokens += i64(encoded[k].tokens.size());
      }
      progress_.add(i64(encoded[0].sequences.size()), tokens, i64(chunk.size));
    } catch (...) {
      failure_ = std::current_exception();
    }
    ++turns_done_;
    turn_changed_.notify_all();
    return !failure_;
  }

  const PreprocessConfig& config_;
  const Tokenizer& tokenizer_;
  InputReader reader_;
  Progress progress_;
  std::vector<std::unique_ptr<IndexedDatasetWriter>> writers_;

  std::mutex input_mutex_;  // guards reader_ and turns_taken_
  i64 turns_taken_ = 0;
  std::mutex output_mutex_;  // guards all below, writers_ and progress_
  std::condition_variable turn_changed_;
  i64 turns_done_ = 0;
  std::exception_ptr failure_;
};

void check_config(const PreprocessConfig& c) {
  check(c.workers >= 1 && c.workers <= 4096, "--workers is {}: want a number of threads from 1 to 4096", c.workers);
  check(c.log_interval >= 1, "--log-interval is {}: want 1 or more", c.log_interval);
  check(!c.output_prefix.empty(), "--output-prefix is missing: give the path that the output's names begin with");
  check(!c.json_keys.empty(), "--json-keys is empty: name at least one key");
  for (size_t i = 0; i < c.json_keys.size(); ++i) {
    const bool twice = std::count(c.json_keys.begin(), c.json_keys.end(), c.json_keys[i]) > 1;
    check(!twice, "--json-keys names \"{}\" twice: each key gives one output", c.json_keys[i]);
  }
  const bool text =
      std::any_of(c.input.begin(), c.input.end(), [](const auto& file) { return file.ends_with(".txt"); });
  check(!text || c.json_keys.size() == 1, "--json-keys names {} keys, but a .txt file is one text: name one key",
        c.json_keys.size());
}

}  // namespace

PreprocessResult preprocess(const PreprocessConfig& config) {
  check_config(config);
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(config.tokenizer);
  check(!config.append_eod || tokenizer->eod() != Tokenizer::kNone,
        "--append-eod: {} has no end-of-document token: leave the flag out", tokenizer->name());
  const PreprocessResult r = Pipeline(config, *tokenizer).run();
  log::info("Wrote {} documents, {} tokens to {}_{}_document.{{bin,idx}}{} in {:.1f} s ({:.2f} MB/s)", r.documents,
            r.tokens, config.output_prefix, config.json_keys[0],
            config.json_keys.size() > 1 ? fmt::format(" and {} more", config.json_keys.size() - 1) : "", r.seconds,
            r.seconds > 0 ? double(r.bytes) / r.seconds / 1e6 : 0.0);
  return r;
}

}  // namespace megalith
