#include "complete/sources.h"

#include <malloc.h>

#include "complete/hub_names.h"

namespace megalith {

bool flags_describe_model(const Options& o) { return o.given.has("num-layers"); }

static void check_kind(const Options& o, const ModelConfig& stored) {
  const Architecture kind = stored.architecture;
  check(!o.trains || *o.trains == kind, "--load {} holds a {}, and this command trains a {}: use the command for it",
        o.train.load, name_of(kind), name_of(*o.trains));
}

static void read_stored(const Options& o, Sources& out) {
  out.load = find_on_hub(o.train.load, "--load");
  if (out.load.empty()) return;
  TrainConfig where = o.train;
  where.load = out.load;
  out.stored = find_stored_model(where);
  if (out.stored && !flags_describe_model(o)) check_kind(o, out.stored->model);
}

// The vocabulary and the kind of the model that the options will have.
static VocabularyUse use_of(const Options& o, const std::optional<StoredModel>& stored) {
  const bool by_load = stored && !flags_describe_model(o);
  const auto from_load = [&](const char* flag) { return by_load && !o.given.has(flag); };
  const ModelConfig& own = o.model;
  const Architecture kind = from_load("architecture") ? stored->model.architecture : own.architecture;
  const bool knows_words = kind == Architecture::bert || kind == Architecture::t5;  // BERT may mask whole words
  return {.architecture = kind,
          .vocab_size = from_load("vocab-size") ? stored->model.vocab_size : own.vocab_size,
          .run_asks = o.data.sft || o.data.fim.on || knows_words,
          .files_may_lack = o.train.dry_run};
}

Sources read_sources(const Options& o) {
  Sources out{.load = o.train.load, .tokenizer = {.config = o.tokenizer}};
  try {
    read_stored(o, out);
  } catch (const Error& e) {
    out.mistakes.emplace_back(e.what());
    out.knows_model = flags_describe_model(o);
    out.stored.reset();
  }
  if (!out.knows_model) return out;
  try {
    out.tokenizer = read_tokenizer(o.tokenizer, out.stored.value_or(StoredModel()), out.load, use_of(o, out.stored));
  } catch (const Error& e) {
    out.mistakes.emplace_back(e.what());
  }
  malloc_trim(0);  // the tokenizer's memory returns to the system: training does not need it
  return out;
}

}  // namespace megalith
