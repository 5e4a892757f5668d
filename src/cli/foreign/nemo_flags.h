// Gathers the flags of a translated command line, each once, and what there is to say about the rest.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cli/foreign/nemo_values.h"
#include "cli/foreign/translation.h"

namespace megalith {

class NemoFlags {
 public:
  // `by_user`: what a user has written wins over what stands in a file of NeMo's.
  void put(const std::string& flag, std::vector<std::string> values, bool by_user);
  bool has(const std::string& flag) const;
  std::string value(const std::string& flag) const;  // the first; "" where there is none

  void idle(const std::string& why, const NemoValue& value);  // said of what the user wrote only
  void wrong(std::string what) { wrong_.push_back(std::move(what)); }
  void refuse(const std::string& why, const std::string& key, const NemoValue& value);

  Translation take(std::string whose, const std::vector<std::string>& own_words) const;

 private:
  struct Flag {
    std::string name;
    std::vector<std::string> values;
    bool by_user;
  };
  std::vector<Flag> flags_;                                         // in the order in which they came
  std::map<std::string, std::vector<std::string>> idle_, refused_;  // by the reason
  std::vector<std::string> wrong_;
};

}  // namespace megalith
