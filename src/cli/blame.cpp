// megalith blame INCIDENT: the documents of an incident, with their text.
#include "base/append_file.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/parse_json.h"
#include "ckpt/tensors/files.h"
#include "cli/command.h"
#include "cli/own_flags.h"
#include "data/indexed_dataset.h"
#include "settings/options.h"

namespace megalith {

namespace {

using nlohmann::json;

struct BlameFlags {
  std::string incident, write_samples;
  bool text = false, all = false;
  TokenizerConfig tokenizer;
};

void list_fields(BlameFlags& c, config::FieldList& f) {
  f.group("Incident");
  f.add("incident", c.incident, "The file, SAVE/incidents/iter_0001234.json; the flag's name is optional.")
      .shown_as("FILE")
      .also_bare();
  f.add("text", c.text, "Print the sample's part of each document: its ids, and with a tokenizer its text.");
  f.add("all", c.all, "Print the documents of the whole iteration, not only those of the sample at fault.");
  f.add("write-samples", c.write_samples,
        "Append the numbers of the samples at fault, or with --all of the whole iteration, to this file: "
        "--skip-samples leaves them out.")
      .shown_as("FILE");
  list_fields(c.tokenizer, f);
}

// One document's line, and the sample's part of it.
void print_document(const json& d, const BlameFlags& c, const Tokenizer* tokenizer) {
  const std::string prefix = d.at("prefix");
  const i64 document = d.at("document"), token = d.at("token"), tokens = d.at("tokens");
  std::string bytes;
  if (d.contains("byte"))
    bytes = fmt::format(", bytes {} to {} of {}.bin", i64(d.at("byte")), i64(d.at("end_byte")), prefix);
  log::say("    document {} of {}: tokens {} to {}{}", document, prefix, token, token + tokens - 1, bytes);
  if (!c.text) return;
  check(d.contains("byte"), "{} is not a dataset in files: its documents have no text", prefix);
  const IndexedDataset data(prefix);
  check(document >= 0 && document < data.sequences() && tokens >= 0 && tokens <= data.length(document),
        "{} has no {} tokens of document {}: it has changed since the incident", prefix, tokens, document);
  std::vector<i32> ids(static_cast<size_t>(tokens));
  data.read(document, token, ids);
  if (tokenizer)
    log::say("      {}", escape_controls(tokenizer->decode(ids)));
  else
    log::say("      ids {}", fmt::join(ids, " "));
}

// Whether the sample is in the micro-batch at fault. Any sample if there is no such micro-batch.
bool is_blamed(const json& sample, const json& incident) {
  const json* of = nullptr;
  if (incident.at("first_non_finite").is_object())
    of = &incident.at("first_non_finite");
  else if (incident.contains("worst"))
    of = &incident.at("worst");
  return !of || (of->at("data_parallel_rank") == sample.at("data_parallel_rank") &&
                 of->at("micro_batch") == sample.at("micro_batch"));
}

// One line for each sample at fault: its number, and its documents as a comment.
std::string blamed_samples(const json& incident, bool all) {
  std::string out = fmt::format("# iteration {}: {}\n", i64(incident.at("iteration")),
                                escape_controls(std::string(incident.at("kind"))));
  const json& first = incident.at("first_non_finite");
  const bool is_one = !all && first.is_object() && first.contains("sample");
  for (const json& s : incident.at("samples")) {
    if (is_one ? s.at("sample") != first.at("sample") : !all && !is_blamed(s, incident)) continue;
    std::string documents;
    for (const json& d : s.at("documents"))
      documents += fmt::format("{} document {} of {}", documents.empty() ? "  #" : ",", i64(d.at("document")),
                               escape_controls(std::string(d.at("prefix"))));
    out += fmt::format("{}{}", i64(s.at("sample")), documents);
    out += "\n";
  }
  return out;
}

void print_incident(const json& incident, const BlameFlags& c, const Tokenizer* tokenizer) {
  log::say("iteration {}: {}, {}: {}", i64(incident.at("iteration")), std::string(incident.at("kind")),
           std::string(incident.at("decision")), std::string(incident.at("cause")));
  log::say("to skip it: --iterations-to-skip {}", i64(incident.at("iterations_to_skip")));
  log::say("to skip its samples at fault: --skip-samples FILE, which --write-samples FILE writes");
  const json& first = incident.at("first_non_finite");
  if (!c.all && first.is_object() && first.contains("document"))
    return print_document(first.at("document"), c, tokenizer);
  for (const json& s : incident.at("samples")) {
    if (!c.all && !is_blamed(s, incident)) continue;
    log::say("  sample {}: data-parallel rank {}, micro-batch {}, row {}", i64(s.at("sample")),
             i64(s.at("data_parallel_rank")), i64(s.at("micro_batch")), i64(s.at("row")));
    for (const json& d : s.at("documents")) print_document(d, c, tokenizer);
  }
}

}  // namespace

int command_blame(int argc, const char* const* argv) {
  BlameFlags c;
  if (!read_flags(c, argc, argv)) return 0;
  check(!c.incident.empty(), "give the incident's file: megalith blame SAVE/incidents/iter_0001234.json");
  const json incident = parse_json<json>(read_text(c.incident));
  check(incident.is_object() && incident.contains("iteration") && incident.contains("samples"),
        "{} is not an incident file: give a file of SAVE/incidents", c.incident);
  std::unique_ptr<Tokenizer> tokenizer;
  if (!c.tokenizer.type.empty()) tokenizer = make_tokenizer(c.tokenizer);
  try {
    print_incident(incident, c, tokenizer.get());
    if (!c.write_samples.empty()) {
      AppendFile file(c.write_samples, "--write-samples");
      check(file.append(blamed_samples(incident, c.all)),
            "--write-samples {}: it could not be written: choose another place", c.write_samples);
      log::say("written to {}", c.write_samples);
    }
  } catch (const json::exception&) {
    fail("{} does not have a run's format: run again to write a new one", c.incident);
  }
  return 0;
}

}  // namespace megalith
