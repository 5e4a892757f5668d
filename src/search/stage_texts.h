// Pipelines' stages that are balanced by cost, as text. They are found once for each number of virtual stages: a plan
// by the text is that of --pipeline-model-parallel-layout auto.
#pragma once
#include <map>
#include <string>

#include "search/choice.h"

namespace megalith::search {

class StageTexts {
 public:
  explicit StageTexts(const Options& base) : base_(base) {}
  // "Ett|ttt|ttL"; empty where the choice is not balanced. Error where layers can't be shared out so.
  const std::string& of(const Choice& c);
  // A balanced choice whose stages have all the same number of layers: it is the even one.
  bool is_even(const Choice& c);

 private:
  const Options& base_;
  struct Stages {
    std::string text;
    bool even = false;
  };
  const Stages& stages_of(const Choice& c);

  std::map<std::pair<i64, i64>, Stages> known_;  // by tensor ranks, which pad the vocabulary, and virtual stages
};

}  // namespace megalith::search
