// A folder of its own for each test, with a small corpus in it: lines of the license's words, as bytes.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "program.h"

namespace megalith::test {

std::string slurp(const std::string& path);
void spit(const std::string& path, const std::string& text);

class Workshop : public ::testing::Test {
 protected:
  Workshop();
  ~Workshop() override;

  std::string operator/(const std::string& name) const { return dir_ + "/" + name; }
  // --data-path of a document for each line, made on first use.
  const std::string& data();
  const std::string& text();  // the lines themselves

  // The words of a small training run: the model and the data, and `more`.
  std::string pretrain(const std::string& more);
  // A run that must succeed.
  Ran must(const std::string& line);

 private:
  std::string dir_, data_, text_;
};

// A metrics file's numbers as written, "ITERATION KEY" -> text, without those that measure
// time, and without spikes, whose window begins anew with each start.
std::map<std::string, std::string> digits(const std::string& metrics_path);

// The number behind `label` where it stands last in the text; NaN if it does not.
double last_number(const std::string& text, const std::string& label);

// One line that holds `part`, exit code not 0, within 2 seconds.
void expect_refused(const Ran& ran, const std::string& part);
inline void expect_refused(const std::string& line, const std::string& part) { expect_refused(megalith(line), part); }

}  // namespace megalith::test
