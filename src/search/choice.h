// One way to distribute a run over GPUs: what the search chooses, as words and as flags.
#pragma once
#include <string>
#include <vector>

#include "settings/options.h"

namespace megalith::search {

// parts: the MLP of each layer, or its mixture of experts. flags: as in the user's flags.
enum class Recompute { flags, none, parts, full };

struct Choice {
  i64 tp = 1, pp = 1, vpp = 1, cp = 1, ep = 1, etp = 1;
  i64 micro_batch = 1;
  CpCommType cp_comm = CpCommType::all_gather;
  bool zero_bubble = false;
  bool balanced = false;  // stages by cost (--pipeline-model-parallel-layout auto); else by the user's flags, or equal
  Recompute recompute = Recompute::none;
  bool offload = false;     // of activations
  bool sharded = true;      // the optimizer state
  bool tp_overlap = false;  // tensor-parallel transfers of the backward overlap with its products
  auto operator<=>(const Choice&) const = default;
};

// "tp8 pp4 vpp5 cp1 mbs1 recompute-parts". Sizes of 1 are omitted, except those of tp, pp and mbs.
std::string to_string(const Choice& c);

// The words that the user fixes: "tp8 pp4". Error on an unknown word.
struct Wanted {
  std::vector<std::string> words;
  bool holds(const Choice& c) const;
};
Wanted parse_wanted(const std::string& text);

// The run with these sizes. `base` has all other options, with their derived values. `layouts`: a balanced pipeline's
// stages as text (stage_texts.h), empty for auto. It does not check the rules between flags.
Options with(const Options& base, const Choice& c, const std::string& layout = {});

// The flags of the choice, as words of a command line.
std::vector<std::string> flags_of(const Options& base, const Choice& c);

}  // namespace megalith::search
