#include "train/incident_json.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/number_text.h"
#include "base/parse_json.h"

namespace megalith {

namespace {

using nlohmann::ordered_json;

// JSON has no NaN or infinity.
ordered_json number(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

ordered_json json_of(const DocumentPart& d) {
  ordered_json j{{"prefix", d.prefix},
                 {"document", d.document},
                 {"token", d.token},
                 {"tokens", d.tokens},
                 {"position", d.position}};
  if (d.byte >= 0) j["byte"] = d.byte, j["end_byte"] = d.end_byte;
  return j;
}

ordered_json json_of(const IncidentReport& i) {
  const NonFinite& f = i.first->what;
  ordered_json j{{"rank", i.first->rank},
                 {"data_parallel_rank", i.data_parallel_rank},
                 {"micro_batch", f.when.micro_batch},  // -1: before the first micro-batch
                 {"phase", f.phase},
                 {"layer", f.layer},
                 {"module", f.module},
                 {"op", f.op},
                 {"tensor", f.tensor},
                 {"not_finite", f.count},
                 {"elements", f.elements}};
  if (!f.stack.empty()) j["stack"] = f.stack;
  if (!f.parameter.empty()) j["parameter"] = f.parameter;
  if (f.position >= 0) j["position"] = f.position, j["row"] = f.row;
  if (i.sample) j["sample"] = i.sample->sample;
  if (i.token) j["token"] = *i.token;
  if (i.document) j["document"] = json_of(*i.document);
  return j;
}

}  // namespace

void IncidentReport::place(const Mesh& mesh, int ranks, const Dataset& dataset, const LoaderConfig& config) {
  const NonFinite& f = first->what;
  data_parallel_rank = ranks > 1 ? mesh.place(mesh.coord(first->rank), groups::data) : 0;
  if (f.position < 0) return;
  for (const SampleRead& s : samples)
    if (s.data_parallel_rank == data_parallel_rank && s.micro_batch == f.when.micro_batch && s.row == f.row)
      sample = &s;
  if (!sample) return;
  document = document_at(*sample, f.position);
  LoaderConfig of_rank = config;
  of_rank.data_parallel_rank = data_parallel_rank;
  of_rank.consumed_samples += f.when.micro_batch * config.micro_batch_size * config.data_parallel_size;
  const auto arrays = dataset.arrays();
  if (std::ranges::none_of(arrays, [](const SampleArray& a) { return std::string_view(a.name) == "tokens"; })) return;
  Batch batch{.sequences = 1, .seq_length = dataset.seq_length()};
  for (const SampleArray& a : arrays) batch.arrays[a.name] = empty_array(a, 1);
  dataset.get(sample->index, SampleRow(batch, 0));
  token = batch.ints("tokens").at(size_t(f.position));
}

const DataRankLoss* IncidentReport::worst() const {
  if (losses.empty()) return nullptr;
  std::vector<double> means;
  for (const DataRankLoss& l : losses)
    if (std::isfinite(l.mean())) means.push_back(l.mean());
  std::ranges::sort(means);
  const double median = means.empty() ? 0 : means[means.size() / 2];
  const auto away = [&](const DataRankLoss& l) {
    return std::isfinite(l.mean()) ? std::abs(l.mean() - median) : std::numeric_limits<double>::infinity();
  };
  return &*std::ranges::max_element(losses, {}, away);
}

std::string IncidentReport::cause_text() const {
  if (!first) return "all numbers of its forward and backward are finite when it runs again";
  const NonFinite& f = first->what;
  std::string out =
      fmt::format("the first non-finite number is on rank {}, {}, tensor {} ({} of {} numbers)", first->rank,
                  f.layer >= 0 ? fmt::format("layer {}", f.layer) : "no layer", f.tensor, f.count, f.elements);
  if (document)
    out += fmt::format(", document {} of {}", document->document, document->prefix);
  else if (f.when.micro_batch >= 0)
    out += fmt::format(", micro-batch {}", f.when.micro_batch);
  return out;
}

std::string IncidentReport::spike_text() const {
  std::string out;
  const auto add = [&](bool is, const char* what, double x, const SpikeDetector::Usual& usual) {
    if (is)
      out += fmt::format("{}{} {} is far above the median {} of the last steps (deviation {})", out.empty() ? "" : ", ",
                         what, number_text(x), number_text(usual.median), number_text(usual.deviation));
  };
  add(step.loss_spike, "loss", step.loss, usual_loss);
  add(step.grad_norm_spike, "gradient norm", step.grad_norm, usual_grad_norm);
  return out;
}

std::string incident_json(const IncidentReport& i, const Options& o) {
  ordered_json j{
      {"iteration", i.iteration},
      {"kind", i.step.counted ? "spike" : "not finite"},
      {"decision", i.step.counted ? "kept" : "skipped"},
      {"iterations_to_skip", i.iteration - 1},  // as the flag counts
      {"loss", number(i.step.loss)},
      {"grad_norm", number(i.step.grad_norm)},
      {"loss_spike", i.step.loss_spike},
      {"grad_norm_spike", i.step.grad_norm_spike},
      {"usual_loss", {{"median", i.usual_loss.median}, {"deviation", i.usual_loss.deviation}}},
      {"usual_grad_norm", {{"median", i.usual_grad_norm.median}, {"deviation", i.usual_grad_norm.deviation}}},
      {"seed", o.train.seed},
      {"cause", i.step.counted  ? i.spike_text()
                : i.is_replayed ? i.cause_text()
                                : "not looked for"}};
  j["rank"] = i.first ? ordered_json(i.first->rank) : ordered_json();
  j["first_non_finite"] = i.first ? json_of(i) : ordered_json();
  j["losses"] = ordered_json::array();
  for (const DataRankLoss& l : i.losses)
    j["losses"].push_back({{"data_parallel_rank", l.data_parallel_rank},
                           {"micro_batch", l.micro_batch},
                           {"loss", number(l.mean())},
                           {"tokens", number(l.tokens)}});
  if (const DataRankLoss* w = i.worst())
    j["worst"] = {{"data_parallel_rank", w->data_parallel_rank}, {"micro_batch", w->micro_batch}};
  j["samples"] = ordered_json::array();
  for (const SampleRead& s : i.samples) {
    ordered_json sample{{"data_parallel_rank", s.data_parallel_rank},
                        {"micro_batch", s.micro_batch},
                        {"row", s.row},
                        {"sample", s.sample},
                        {"index", s.index}};
    sample["documents"] = ordered_json::array();
    for (const DocumentPart& d : s.documents) sample["documents"].push_back(json_of(d));
    j["samples"].push_back(std::move(sample));
  }
  return j.dump(1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace megalith
