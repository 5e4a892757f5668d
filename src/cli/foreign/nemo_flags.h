// Collects the flags of a translated command line, each once, and the messages about all other settings.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cli/foreign/nemo_values.h"
#include "cli/foreign/translation.h"

namespace megalith {

class NemoFlags {
 public:
  // `by_user`: a user's setting overrides that of a NeMo file.
  void put(const std::string& flag, std::vector<std::string> values, bool by_user);
  bool has(const std::string& flag) const;
  std::string value(const std::string& flag) const;  // the first; "" if there is none

  void idle(const std::string& why, const NemoValue& value);  // reported only for settings of the user
  void wrong(std::string what) { wrong_.push_back(std::move(what)); }
  void refuse(const std::string& why, const std::string& key, const NemoValue& value);

  Translation take(std::string whose, const std::vector<std::string>& own_words) const;

 private:
  struct Flag {
    std::string name;
    std::vector<std::string> values;
    bool by_user;
  };
  std::vector<Flag> flags_;                                         // in order of arrival
  std::map<std::string, std::vector<std::string>> idle_, refused_;  // by reason
  std::vector<std::string> wrong_;
};

}  // namespace megalith
