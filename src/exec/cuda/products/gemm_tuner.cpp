#include "exec/cuda/products/gemm_tuner.h"

#include <algorithm>
#include <set>

namespace megalith::cuda {

namespace {

constexpr double kHopeless = 1.3;  // times the fewest cycles, in one run: the way is dropped
constexpr double kHopelessGuess = 1.05;
// times the fewest cycles of suggested ways: a guessed way with fewer gets a long measurement
constexpr double kClearly = 0.99;
constexpr size_t kGuessedTiles = 2;
// no clock compensates for more: sustained clocks differ by at most 12%, good ones by less
constexpr double kSlow = 1.08;
constexpr double kSliceMs = 1;
constexpr double kSettleMs = 80, kMeasureMs = 50;
constexpr int kSamples = 2;      // samples of a sustained clock, from different problems
constexpr double kClose = 1.02;  // times the least expected time: these ways run in turns
constexpr size_t kFinalists = 3;
constexpr int kTurns = 4;
constexpr double kTurnSettleMs = 60, kTurnMs = 60;
constexpr double kSame = 0.997;  // a later way must be better by more than this, so that noise replaces no earlier way

double sustained(const Ways& ways, int way, SustainedClocks& clocks) {
  SustainedClock& known = clocks[ways.names[way]];
  if (known.samples < kSamples) {
    const double mhz = ways.measure(way, kSettleMs, kMeasureMs).mhz;
    known.mhz = (known.mhz * known.samples + mhz) / (known.samples + 1);
    ++known.samples;
  }
  return known.mhz;
}

// Cycles of one run for each way, then of runs of about kSliceMs if one run is short.
std::vector<Sample> count_cycles(const Ways& ways) {
  const int n = int(ways.names.size()), suggested = n - int(ways.guessed_tiles.size());
  std::vector<Sample> samples;
  double fewest = Sample{}.cycles;
  for (int w = 0; w < n; ++w) {
    ways.measure(w, 0, 0);  // loads its code
    samples.push_back(ways.measure(w, 0, 0));
    fewest = std::min(fewest, samples[w].cycles);
  }
  for (int round = 0; round < 2; ++round)
    for (int w = 0; w < n; ++w) {
      const double ms = samples[w].cycles / samples[w].mhz / 1e3;
      const double hopeless = w < suggested ? kHopeless : kHopelessGuess;
      if (!(samples[w].cycles <= hopeless * fewest) || ms > 4 * kSliceMs) continue;
      const Sample s = ways.measure(w, 0, kSliceMs);
      if (s.cycles < samples[w].cycles) samples[w] = s;
      fewest = std::min(fewest, s.cycles);
    }
  return samples;
}

// Gives infinite cycles to ways that are not worth a long measurement.
void drop_guesses(const Ways& ways, std::vector<Sample>& samples) {
  const int suggested = int(samples.size() - ways.guessed_tiles.size());
  std::vector<int> guesses;
  double limit = Sample{}.cycles;
  for (int w = 0; w < int(samples.size()); ++w)
    if (w < suggested)
      limit = std::min(limit, kClearly * samples[w].cycles);
    else
      guesses.push_back(w);
  std::ranges::stable_sort(guesses, {}, [&](int w) { return samples[w].cycles; });
  std::set<int> tiles;
  for (int w : guesses) {
    const bool look = samples[w].cycles < limit && tiles.size() < kGuessedTiles &&
                      tiles.insert(ways.guessed_tiles[w - suggested]).second && (!ways.agrees || ways.agrees(w));
    if (!look) samples[w] = {};
  }
}

struct Expected {
  int way;
  double ms;
};

// The best way by the times of runs in turns.
Fastest best_in_turns(const Ways& ways, std::vector<Expected> finalists) {
  for (Expected& e : finalists) e.ms = 0;
  for (int turn = 0; turn < kTurns; ++turn)
    for (Expected& e : finalists) {
      const Sample s = ways.measure(e.way, kTurnSettleMs, kTurnMs);
      e.ms += s.cycles / s.mhz / 1e3 / kTurns;
    }
  Fastest best{finalists[0].way, finalists[0].ms};
  for (const Expected& e : finalists)
    if (e.ms < kSame * best.ms) best = {e.way, e.ms};
  return best;
}

}  // namespace

Fastest fastest(const Ways& ways, SustainedClocks& clocks) {
  std::vector<Sample> samples = count_cycles(ways);
  drop_guesses(ways, samples);
  double fewest = Sample{}.cycles;
  for (const Sample& s : samples) fewest = std::min(fewest, s.cycles);
  if (fewest == Sample{}.cycles) return {};
  Fastest best{-1, Sample{}.cycles};
  std::vector<Expected> expected;
  for (int w = 0; w < int(samples.size()); ++w) {
    if (samples[w].cycles > kSlow * fewest) continue;
    const double mhz = ways.hot ? sustained(ways, w, clocks) : samples[w].mhz;
    const double ms = (ways.hot ? samples[w].cycles / mhz : samples[w].cycles) / 1e3;
    if (ms < best.ms * (best.way < 0 ? 1 : kSame)) best = {w, ms};
    expected.push_back({w, ms});
  }
  if (!ways.hot) {
    best.ms /= samples[best.way].mhz;
    return best;
  }
  std::ranges::stable_sort(expected, {}, &Expected::ms);
  std::erase_if(expected, [&](const Expected& e) { return e.ms > kClose * best.ms; });
  if (expected.size() > kFinalists) expected.resize(kFinalists);
  std::ranges::sort(expected, {}, &Expected::way);  // so that noise replaces no earlier way
  return expected.size() > 1 ? best_in_turns(ways, expected) : best;
}

}  // namespace megalith::cuda
