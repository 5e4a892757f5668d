// Whether the rules between flags allow a layout, and the messages about refused layouts.
#pragma once
#include <map>
#include <optional>

#include "search/space.h"
#include "search/stage_texts.h"

namespace megalith::search {

class Legality {
 public:
  // It counts refused layouts in `reasons`.
  Legality(const Options& base, StageTexts& texts, Reasons& reasons) : base_(base), texts_(texts), reasons_(reasons) {}

  bool allows(const Choice& c);
  bool any() const { return any_legal_; }
  // A layout whose sizes do not divide, so it is not among those to check.
  void keep_unfit(const Unfit& unfit);
  // Rules that all layouts broke, each with the line of the first layout.
  std::vector<std::string> mistakes() const;
  void refuse(const std::string& reason, const std::string& example);

 private:
  struct Broken {
    std::string rule, line;
  };
  struct Common {
    std::string line;
    bool differs = false;  // from layout to layout, as it holds sizes of the layout
  };

  std::vector<Broken> broken_rules(const Choice& c);
  bool keeps_rules(const Choice& c);
  void keep_common(const Choice& c, const std::vector<Broken>& broken);

  const Options& base_;
  StageTexts& texts_;
  Reasons& reasons_;
  std::map<Choice, bool> known_;
  bool any_legal_ = false;
  std::optional<Choice> first_refused_;
  std::map<std::string, Common> common_;  // by the rule
};

}  // namespace megalith::search
