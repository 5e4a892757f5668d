// A test fixture with a separate folder for each test and a small corpus: lines of the license's words, as bytes.
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
  const std::string& text();  // the lines of the corpus

  // The arguments of a small training run: model and data, then `more`.
  std::string pretrain(const std::string& more);
  // Runs a line and expects success.
  Ran must(const std::string& line);

 private:
  std::string dir_, data_, text_;
};

// The numbers of a metrics file as text, "ITERATION KEY" -> text. Times are excluded. Spikes are excluded too, because
// their window is empty after each start.
std::map<std::string, std::string> digits(const std::string& metrics_path);

// The number after the last occurrence of `label`; NaN if there is none.
double last_number(const std::string& text, const std::string& label);

// Expects one line that contains `part`, a nonzero exit code, and an end within 2 seconds.
void expect_refused(const Ran& ran, const std::string& part);
inline void expect_refused(const std::string& line, const std::string& part) { expect_refused(megalith(line), part); }

}  // namespace megalith::test
