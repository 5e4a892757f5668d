// Balanced pipeline stages as text, computed once for each number of virtual stages. A plan from the text equals that
// of --pipeline-model-parallel-layout auto.
#pragma once
#include <map>
#include <string>

#include "search/choice.h"

namespace megalith::search {

class StageTexts {
 public:
  explicit StageTexts(const Options& base) : base_(base) {}
  // "Ett|ttt|ttL". Empty if the choice is not balanced. Error if the layers cannot be divided like this.
  const std::string& of(const Choice& c);
  // Whether a balanced choice has stages with equal numbers of layers: then it is the equal layout.
  bool is_even(const Choice& c);

 private:
  const Options& base_;
  struct Stages {
    std::string text;
    bool even = false;
  };
  const Stages& stages_of(const Choice& c);

  std::map<std::pair<i64, i64>, Stages>
      known_;  // by tensor-parallel ranks, which pad the vocabulary, and virtual stages
};

}  // namespace megalith::search
