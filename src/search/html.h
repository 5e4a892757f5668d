// The report as one self-contained page, which loads nothing from elsewhere.
#pragma once
#include <string>
#include <vector>

#include "search/report.h"

namespace megalith::search {

struct Page {
  const Options& base;
  const DeviceFacts& facts;
  const Asked& asked;
  const std::vector<Row>& rows;
  const Outcome& found;
  const std::vector<std::string>& commands;
  PricedPlans* first;  // of the first row; nullptr if there is none
};
std::string page_html(const Page& page);

// Text with the escapes of HTML.
std::string html_text(const std::string& text);

}  // namespace megalith::search
