// Whether the rules between flags allow a layout, and the messages about refused layouts.
#pragma once
#include <set>

#include "search/space.h"
#include "search/stage_texts.h"

namespace megalith::search {

class Legality {
 public:
  // It counts refused layouts in `reasons`.
  Legality(const Options& base, StageTexts& texts, Reasons& reasons) : base_(base), texts_(texts), reasons_(reasons) {}

  bool allows(const Choice& c);
  bool any() const { return any_legal_; }
  // Rules that all layouts broke.
  std::vector<std::string> mistakes() const { return {common_.begin(), common_.end()}; }
  void refuse(const std::string& reason, const std::string& example);

 private:
  bool keeps_rules(const Choice& c);
  void keep_common(const std::vector<std::string>& lines);

  const Options& base_;
  StageTexts& texts_;
  Reasons& reasons_;
  std::map<Choice, bool> known_;
  bool any_legal_ = false, any_refused_ = false;
  std::set<std::string> common_;
};

}  // namespace megalith::search
