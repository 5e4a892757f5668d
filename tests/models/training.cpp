#include "tests/models/training.h"

#include "base/rng.h"
#include "models/make_model.h"
#include "ops/update.h"
#include "optim/optimizer.h"
#include "optim/update.h"
#include "passes/gradients.h"

namespace megalith::harness {

namespace {

constexpr i64 kSamples = 8;
constexpr double kLr = 0.01, kDecay = 0.1;

OptimizerConfig optimizer() {
  OptimizerConfig c;
  c.clip_grad = 0.7;
  return c;
}

// Columns of an [s, b] array, or elements of a [b] one.
Tensor columns(const Tensor& t, i64 begin, i64 end) {
  Shape shape = t.shape;
  const i64 b = shape.back(), parts = b / kSamples;  // of each sample
  begin *= parts, end *= parts;
  shape.back() = end - begin;
  Tensor out{shape, {}};
  for (size_t i = 0; i < t.v.size(); ++i)
    if (i64(i) % b >= begin && i64(i) % b < end) out.v.push_back(t.v[i]);
  return out;
}

// kStepTokens, or that of another mask, of micro-batches of n samples.
Tensor step_tokens(const Tensor& mask, i64 n) {
  const i64 samples = mask.shape[1];
  Tensor out = filled({n}, 0);
  for (size_t i = 0; i < mask.v.size(); ++i)
    out.v[size_t(i64(i) % samples % n)] += mask.v[i] * double(n) / double(samples);
  return out;
}

// The value `by` positions after each one, in the same document; otherwise 0. All [s, b].
Tensor shifted(const Tensor& t, const Tensor& starts, i64 by) {
  Tensor out = filled(t.shape, 0);
  const size_t step = size_t(by * t.shape[1]);
  for (size_t i = 0; i + step < t.v.size(); ++i)
    if (starts.v[i] == starts.v[i + step]) out.v[i] = t.v[i + step];
  return out;
}

// Some of the samples lack a label, none all of them.
Tensor uneven_mask(const Shape& shape) {
  Tensor out = filled(shape, 0);
  const i64 samples = shape[1];
  for (size_t i = 0; i < out.v.size(); ++i)
    out.v[i] = unit(mix_all(3, i64(i))) < 0.1 + 0.85 * double(i64(i) % samples) / double(samples - 1);
  return out;
}

void add_decoder_text(const ModelConfig& m, Batch& to) {
  const Shape shape = {m.t5.decoder_seq_length, kSamples};
  to.labels = random_integers(shape, m.vocab_size, 5), to.mask = uneven_mask(shape);
  Tensor positions = filled(shape, 0), lengths = filled({kSamples}, 0);
  for (size_t i = 0; i < positions.v.size(); ++i) positions.v[i] = double(i64(i) / kSamples);
  for (i64 b = 0; b < kSamples; ++b) lengths.v[size_t(b)] = double(m.seq_length - b);
  to.others = {{"decoder_tokens", random_integers(shape, m.vocab_size, 4)},
               {"decoder_position_ids", positions},
               {"lengths", lengths}};
}

void add_neighbors(const ModelConfig& m, Batch& to) {
  const i64 length = m.retro.chunk_length, chunks = m.seq_length / length, neighbors = chunks * m.retro.num_neighbors;
  const Shape shape = {m.retro.retrieved_length(), kSamples * neighbors};
  Tensor positions = filled(shape, 0), rows = filled({shape[1]}, 0), chunk_rows = filled({kSamples * chunks}, 0);
  Tensor mask = filled({m.seq_length, kSamples}, 0);
  for (size_t i = 0; i < positions.v.size(); ++i) positions.v[i] = double(i64(i) / shape[1]);
  for (size_t i = 0; i < rows.v.size(); ++i) rows.v[i] = double(100 * neighbors + i64(i));
  for (size_t i = 0; i < chunk_rows.v.size(); ++i) chunk_rows.v[i] = double(100 * chunks + i64(i));
  for (size_t i = 0; i < mask.v.size(); ++i) mask.v[i] = i64(i) / kSamples >= length - 1;
  to.others = {{"neighbor_tokens", random_integers(shape, m.vocab_size, 6)},
               {"neighbor_position_ids", positions},
               {"neighbor_rows", rows},
               {"chunk_rows", chunk_rows},
               {"cross_mask", mask}};
}

}  // namespace

Batch make_batch(const ModelConfig& m, bool documents) {
  const Shape shape = {m.seq_length, kSamples};
  Batch out{random_integers(shape, m.vocab_size, 1),
            random_integers(shape, m.vocab_size, 2),
            uneven_mask(shape),
            filled(shape, 0),
            filled(shape, 0),
            filled({kSamples}, 0),
            filled(shape, 0),
            filled(shape, 0),
            filled({kSamples}, 0),
            random_integers({kSamples}, 2, 4),
            filled({kSamples}, 1)};
  for (i64 s = 0; s < shape[0]; ++s)
    for (i64 b = 0; b < kSamples; ++b) {
      const i64 at = s * kSamples + b, start = documents && b % 3 == 1 && s >= 5 ? 5 : 0;
      out.starts.v[at] = double(start), out.positions.v[at] = double(s - start);
      out.rows.v[b] = double(100 + b);
      const i64 length = shape[0] - b % 3 * 2;
      out.types.v[at] = s >= 4 + b % 2, out.first.v[at] = s == 0, out.lengths.v[b] = double(length);
      if (m.architecture == Architecture::bert && s >= length) out.mask.v[at] = 0;
    }
  if (m.is_t5()) add_decoder_text(m, out);
  if (m.retrieves()) add_neighbors(m, out);
  return out;
}

TrainingGraph build_training(const TrainingSpec& spec) {
  TrainingGraph t;
  t.g.mesh = spec.mesh;
  Builder b(t.g);
  b.regather = spec.regather;
  BuildMode mode;
  mode.batch = spec.samples / spec.micro_batches;
  mode.precision = computing_in(DType::f64);
  mode.tally_experts = mode.tally_layers = spec.tally;
  const auto model = make_model(spec.model, spec.style, {spec.documents, spec.documents});
  Built built = model->build_whole(b, mode);
  if (spec.edit_forward) {
    spec.edit_forward(t.g);
    verify(t.g);
  }
  const Accumulators acc = add_gradients(b, built.parameters, built.terms, mode.precision);
  t.places = tally_places(model->terms(), model->tallies(mode));
  const Value tally = accumulate_tallies(b, t.places, built);
  add_update(b, built.parameters, {acc.gradients, acc.loss.sum, acc.loss.weight}, optimizer(), mode.precision);
  if (tally) {
    const Value total = t.g.outputs[kTally] = total_of_tallies(b, {tally});
    update_at_end(b, built.untrained, t.places, total, t.g.outputs.at("step"));
  }
  if (spec.edit_all) spec.edit_all(t.g);
  verify(t.g);
  t.parameters = std::move(built.parameters);
  for (const Untrained& u : built.untrained) t.untrained.push_back(u.tensor);
  t.terms = model->terms();
  return t;
}

Plan plan_training(const TrainingSpec& spec, TrainingGraph& t) {
  run_passes(t.g, standard_passes(spec.ring), spec.passes_off);
  if (spec.overlap_experts) run_passes(t.g, {{"overlap-experts", overlap_experts}});
  if (spec.overlap_dispatch) run_passes(t.g, {{"overlap-dispatch", overlap_dispatch}});
  if (spec.recompute.granularity != RecomputeConfig::Granularity::none)
    run_passes(t.g, {recompute_pass(spec.recompute)});
  const auto fuses = [](const Graph&, const Node& n) {
    const auto& op = n.op.get_if<CodedResult>()->op;
    return !op || op->get_if<RmsNorm>() || op->get_if<Swiglu>() || op->get_if<SwigluGrad>();
  };
  if (spec.fuses_casts) run_passes(t.g, {{"fuse-casts", [&](Graph& g) { return fuse_casts(g, fuses); }}});
  return plan_memory(spec.mesh,
                     {{"micro-batch", &t.g, {Phase::forward, Phase::backward}}, {"update", &t.g, {Phase::update}}},
                     cpu::workspace_bytes);
}

Tensors initial_values(const std::vector<Parameter>& parameters) {
  Tensors out;
  for (const Parameter& p : parameters) {
    Tensor t = random_tensor(p.type.shape, hash_name(p.name));
    const i64 row = count(p.type.shape) / p.type.shape[0];
    const double std = p.name.find("embedding") != std::string::npos ? 0.5 : 0.3;
    for (size_t i = 0; i < t.v.size(); ++i) t.v[i] = i64(i) / row < p.true_rows ? p.initial.mean + std * t.v[i] : 0;
    out[p.name] = std::move(t);
  }
  return out;
}

Tensor untrained_values(const std::string& name, const Shape& shape) {
  Tensor t = random_tensor(shape, hash_name(name));
  for (double& x : t.v) x *= 0.1;
  return t;
}

Training::Training(const TrainingSpec& spec, const Batch& batch) : spec_(spec), batch_(batch) {
  TrainingGraph t = build_training(spec_);
  Plan plan = plan_training(spec_, t);
  parameters_ = std::move(t.parameters), untrained_ = std::move(t.untrained), terms_ = std::move(t.terms),
  places_ = std::move(t.places);
  ranks_ = std::make_unique<RankSet>(std::move(plan), spec_.fault);
}

void Training::run_micro_batches(const Tensors& values) {
  for (const auto& [name, t] : values) ranks_->write(name, t);
  for (const Parameter& p : untrained_) ranks_->write(p.name, untrained_values(p.name, p.type.shape));
  const i64 n = spec_.samples / spec_.micro_batches;
  for (int m = 0; m < spec_.micro_batches; ++m) {
    const std::pair<std::string, const Tensor*> data[] = {{"tokens", &batch_.tokens},
                                                          {"labels", &batch_.labels},
                                                          {"loss_mask", &batch_.mask},
                                                          {"position_ids", &batch_.positions},
                                                          {"document_starts", &batch_.starts},
                                                          {"rows", &batch_.rows},
                                                          {"types", &batch_.types},
                                                          {"first_token", &batch_.first},
                                                          {"lengths", &batch_.lengths},
                                                          {"is_random", &batch_.swapped},
                                                          {"pair_mask", &batch_.pairs}};
    for (const auto& [name, t] : data)
      if (ranks_->plan().find_leaf(name)) ranks_->write(name, columns(*t, m * n, (m + 1) * n));
    for (const auto& [name, t] : batch_.others)
      if (ranks_->plan().find_leaf(name)) ranks_->write(name, columns(t, m * n, (m + 1) * n));
    const auto write_step = [&](const std::string& name, const Tensor& mask) {
      if (ranks_->plan().find_leaf(name)) ranks_->write(name, step_tokens(mask, n));
    };
    write_step(kStepTokens, batch_.mask);
    for (i64 j = 1; j <= spec_.model.mtp.num_layers; ++j) {
      write_step(fmt::format("{}.{}", kStepTokens, j), shifted(batch_.mask, batch_.starts, j));
      for (const auto& [name, t] : data)
        if (const std::string leaf = fmt::format("mtp_{}.{}", name, j); ranks_->plan().find_leaf(leaf))
          ranks_->write(leaf, columns(shifted(*t, batch_.starts, j), m * n, (m + 1) * n));
    }
    ranks_->run("micro-batch", m == 0);
  }
}

double Training::sum(const std::string& leaf) { return ranks_->read(leaf).v[0]; }

Tensors Training::tallies() {
  Tensors out;
  if (places_.empty()) return out;
  const std::vector<double> all = ranks_->read(kTally).v;
  for (const TallyPlace& p : places_) out[p.name] = {{p.size}, {&all[size_t(p.at)], &all[size_t(p.at)] + p.size}};
  return out;
}

std::vector<double> Training::terms() {
  std::vector<double> out;
  const Tensors all = tallies();
  for (size_t i = 1; i < terms_.size(); ++i)
    out.push_back(all.at(terms_[i] + " sum").v[0] / all.at(terms_[i] + " weight").v[0]);
  return out;
}

double Training::loss(const Tensors& values) {
  run_micro_batches(values);
  double mean = sum("loss_sum") / sum("token_sum");
  const MtpConfig& mtp = spec_.model.mtp;
  const std::vector<double> others = terms();
  if (spec_.model.architecture == Architecture::bert)
    for (const double other : others) mean += other;
  for (i64 j = 0; j < mtp.num_layers; ++j) mean += mtp.loss_scaling_factor / double(mtp.num_layers) * others[size_t(j)];
  return mean;
}

StepResult Training::step(const Tensors& values) {
  run_micro_batches(values);
  StepResult out;
  const double tokens = sum("token_sum");
  out.terms = terms();
  for (const Parameter& p : parameters_) {
    Tensor g = ranks_->read(gradient_name(p.name));
    for (double& x : g.v) x /= tokens;
    out.gradients[p.name] = std::move(g);
  }
  const OptimizerConfig c = optimizer();
  std::vector<double> numbers = {kLr, kDecay, 0, 0};
  c.chosen().write_scalars(1, numbers.data() + step_scalars_in::kOwn);
  ranks_->write("step_scalars_in", {{4}, numbers});
  ranks_->run("update");
  const Tensor scalars = ranks_->output("update", "step");
  out.loss = scalars.v[step_scalar::kLoss], out.norm = scalars.v[step_scalar::kGradNorm];
  check(scalars.v[step_scalar::kCounts] == 1, "the step does not count");
  out.tallies = tallies();
  for (const auto* kept : {&parameters_, &untrained_})
    for (const Parameter& p : *kept) out.after[p.name] = ranks_->read(p.name);
  return out;
}

}  // namespace megalith::harness
