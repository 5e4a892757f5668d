// A separate folder for each test, with a small corpus: lines of the license's words, as bytes.
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
  // --data-path with a document for each line; made at the first call.
  const std::string& data();
  const std::string& text();  // the lines themselves

  // The arguments of a small training run: model and data, then `more`.
  std::string pretrain(const std::string& more);
  // A run that must succeed.
  Ran must(const std::string& line);

 private:
  std::string dir_, data_, text_;
};

// A metrics file's numbers as text, "ITERATION KEY" -> text. Without times, and without spikes, whose window starts
// empty in each start.
std::map<std::string, std::string> digits(const std::string& metrics_path);

// The number after the last occurrence of `label`; NaN if there is none.
double last_number(const std::string& text, const std::string& label);

// One line that contains `part`, exit code not 0, within 2 seconds.
void expect_refused(const Ran& ran, const std::string& part);
inline void expect_refused(const std::string& line, const std::string& part) { expect_refused(megalith(line), part); }

}  // namespace megalith::test
