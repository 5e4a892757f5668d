#include "resume/stored_model.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/log.h"
#include "ckpt/hf/hf_config.h"
#include "ckpt/hf/hf_token_ids.h"
#include "ckpt/not_loadable.h"
#include "ckpt/tensors/files.h"
#include "config/file.h"
#include "resume/non_persistent.h"
#include "state/read_state.h"

namespace megalith {

AnyOpenOptions open_unverified(i64 iteration) {
  AnyOpenOptions o;
  o.verify = false;
  if (iteration > 0) o.iteration = iteration;
  return o;
}

std::optional<CheckpointPlace> find_loadable(const std::string& dir, i64 iteration) {
  check(!std::filesystem::exists(dir) || std::filesystem::is_directory(dir),
        "--load {}: this is a file, want a directory", dir);
  return find_checkpoint(dir, open_unverified(iteration).iteration);
}

Options stored_options(const AnyCheckpoint& c) {
  check(!c.foreign(), "{} holds a model of an architecture that is not built yet", c.path);
  Options stored;
  config::FieldList fields = config::fields_of(stored);
  const std::vector<std::string> unknown = config::from_json(fields, c.manifest.config_json, c.path);
  if (!unknown.empty())
    log::warn("{} was saved by another version of this program: unknown settings are ignored: {}", c.path,
              fmt::join(unknown, ", "));
  return stored;
}

TokenizerConfig stored_tokenizer(const AnyCheckpoint& checkpoint) { return stored_options(checkpoint).tokenizer; }

static StoredModel read_model(const CheckpointPlace& place, i64 iteration) {
  const std::string& dir = place.asked;
  if (place.format == CkptFormat::hf) {
    const std::string config = read_text(dir + "/config.json");
    return {read_hf_config(dir).model, {}, hf_ends_of_text(dir, config), hf_decoder_start(config)};
  }
  AnyOpenOptions open = open_unverified(iteration);
  open.tells = open.whole = false;  // the code that loads the weights verifies them, and warns
  const AnyCheckpoint c = open_any_checkpoint(place, open);
  return {*c.model, stored_tokenizer(c), hf_ends_of_text(dir, c.hf_config), hf_decoder_start(c.hf_config)};
}

StoredModel read_stored_model(const std::string& dir, i64 iteration) {
  const auto place = find_loadable(dir, iteration);
  if (!place) fail("--load {}", why_not_loadable(dir));
  return read_model(*place, iteration);
}

std::optional<StoredModel> find_stored_model(const TrainConfig& t) {
  const std::string copy = newest_non_persistent_here(t);
  try {
    if (const auto place = find_loadable(t.load, t.ckpt_step)) return read_model(*place, t.ckpt_step);
  } catch (const Error&) {
    if (copy.empty()) throw;
  }
  return copy.empty() ? std::nullopt : std::optional(read_stored_model(copy, 0));
}

void load_weights(const std::string& dir, i64 iteration, ModelState& model) {
  AnyCheckpoint c = open_any_checkpoint(dir, open_unverified(iteration));
  c.verify();
  read_state(*c.tensors, false, model);
  model.finish();
}

void load_named_weights(const std::string& dir, i64 step, ModelState& model) {
  AnyOpenOptions open{.verify = false, .or_older = false};
  if (step > 0) open.iteration = step;
  const AnyCheckpoint named = open_any_checkpoint(dir, open);
  try {
    load_weights(named.path, 0, model);
  } catch (const DamagedCheckpoint&) {  // its numbers are read here for the first time
    open.verify = true;
    (void)open_any_checkpoint(dir, open);
    throw;
  }
}

}  // namespace megalith
