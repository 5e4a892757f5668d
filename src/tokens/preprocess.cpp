#include "tokens/preprocess.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "base/log.h"
#include "tokens/document_encoder.h"
#include "tokens/preprocess_output.h"
#include "tokens/preprocess_progress.h"

namespace megalith {

namespace {

std::vector<std::string> output_names(const PreprocessConfig& c) {
  std::vector<std::string> names;
  for (const std::string& key : c.json_keys)
    names.push_back(fmt::format("{}_{}_{}", c.output_prefix, key, c.split_sentences ? "sentence" : "document"));
  return names;
}

// Workers take numbered chunks, encode them in parallel, and write them in order. An error also waits for its turn,
// so the reported error is the first one in the input.
class Pipeline {
 public:
  Pipeline(const PreprocessConfig& config, const Tokenizer& tokenizer, const InputFiles& files)
      : workers_(config.workers),
        tokenizer_(tokenizer),
        options_{.keys = config.json_keys,
                 .eod = config.append_eod ? tokenizer.eod() : Tokenizer::kNone,
                 .split_sentences = config.split_sentences,
                 .keep_newlines = config.keep_newlines,
                 .skip_bad_lines = config.skip_bad_lines},
        reader_(files.names, config.split_lines, JsonObject::kPadding),
        output_(output_names(config), config.keep_sequential_samples ? 1 : config.partitions,
                token_type_for_vocab(tokenizer.vocab_size())),
        progress_(config.log_interval, files.bytes) {}

  PreprocessResult run() {
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < workers_; ++i) threads.emplace_back([this] { work(); });
    }
    if (failure_) std::rethrow_exception(failure_);
    output_.finish();
    return progress_.result();
  }

 private:
  void work() {
    DocumentEncoder encoder(tokenizer_, options_);
    InputChunk chunk;
    EncodedChunk encoded;
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

  // Writes when it is this chunk's turn. False if the run has failed.
  bool finish_turn(i64 turn, std::exception_ptr error, const InputChunk& chunk, const EncodedChunk& encoded) {
    std::unique_lock lock(output_mutex_);
    turn_changed_.wait(lock, [&] { return turns_done_ == turn || failure_; });
    if (failure_) return false;
    try {
      if (error) std::rethrow_exception(error);
      tell_bad_lines(encoded);
      output_.add(encoded);
      PreprocessResult done{
          .documents = i64(encoded.keys[0].sequences.size()), .bytes = i64(chunk.size), .bad_lines = encoded.bad_lines};
      for (const EncodedDocuments& documents : encoded.keys) done.tokens += i64(documents.tokens.size());
      progress_.add(done, chunk.file_bytes);
    } catch (...) {
      failure_ = std::current_exception();
    }
    ++turns_done_;
    turn_changed_.notify_all();
    return !failure_;
  }

  void tell_bad_lines(const EncodedChunk& encoded) const {
    constexpr i64 kMost = EncodedChunk::kMostTold;
    const i64 before = progress_.result().bad_lines;
    for (i64 i = 0; i < i64(encoded.told.size()) && before + i < kMost; ++i)
      log::warn("skipped {}", encoded.told[size_t(i)]);
    if (before < kMost && before + encoded.bad_lines >= kMost)
      log::warn("{} broken lines so far: from here on they are only counted", kMost);
  }

  const int workers_;
  const Tokenizer& tokenizer_;
  const DocumentOptions options_;
  InputReader reader_;
  PreprocessOutput output_;
  PreprocessProgress progress_;

  std::mutex input_mutex_;  // guards reader_ and turns_taken_
  i64 turns_taken_ = 0;
  std::mutex output_mutex_;  // guards all members below
  std::condition_variable turn_changed_;
  i64 turns_done_ = 0;
  std::exception_ptr failure_;
};

void check_config(const PreprocessConfig& c) {
  check(c.workers >= 1 && c.workers <= 4096, "--workers is {}: want a number of threads from 1 to 4096", c.workers);
  check(c.log_interval >= 1, "--log-interval is {}: want 1 or more", c.log_interval);
  check(!c.output_prefix.empty(), "--output-prefix is missing: give the path that the output's names begin with");
  check(!c.json_keys.empty(), "--json-keys is empty: name at least one key");
  check(std::ranges::find(c.json_keys, "") == c.json_keys.end(), "--json-keys holds an empty name: leave it out");
  for (size_t i = 0; i < c.json_keys.size(); ++i) {
    const bool twice = std::count(c.json_keys.begin(), c.json_keys.end(), c.json_keys[i]) > 1;
    check(!twice, "--json-keys names \"{}\" twice: each key gives one output", c.json_keys[i]);
  }
  check(c.partitions >= 1 && c.partitions <= 1024, "--partitions is {}: want a number from 1 to 1024", c.partitions);
  check(c.lang == "english",
        "--lang is {}: only the abbreviations of english are known; with it, texts of other "
        "languages are cut too, after each full stop",
        c.lang);
  if (c.keep_newlines && !c.split_sentences) log::warn("--keep-newlines does nothing without --split-sentences");
}

void check_files(const PreprocessConfig& c, const InputFiles& files) {
  for (const std::string& file : files.names) {
    const bool text = unpacked_name(file).ends_with(".txt");
    check(!text || c.json_keys.size() == 1,
          "--json-keys names {} keys, but a .txt file is one text: name one key, or leave {} out", c.json_keys.size(),
          file);
  }
}

}  // namespace

PreprocessResult preprocess(const PreprocessConfig& config) {
  check_config(config);
  const InputFiles files = find_input_files(config.input);
  check_files(config, files);
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(config.tokenizer);
  check(!config.append_eod || tokenizer->eod() != Tokenizer::kNone,
        "--append-eod: {} has no end-of-document token: leave the flag out", tokenizer->name());
  const PreprocessResult r = Pipeline(config, *tokenizer, files).run();
  const std::vector<std::string> names = output_names(config);
  log::info("Wrote {} documents, {} tokens to {}.{{bin,idx}}{} in {:.1f} s ({:.2f} MB/s)", r.documents, r.tokens,
            names[0], names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "", r.seconds,
            r.seconds > 0 ? double(r.bytes) / r.seconds / 1e6 : 0.0);
  if (r.bad_lines > 0) log::warn("skipped {} broken lines", r.bad_lines);
  return r;
}

}  // namespace megalith
