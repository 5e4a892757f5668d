// The report as one self-contained page: nothing is loaded from elsewhere.
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
  PricedPlans* first;  // of the first row; nullptr where there is none
};
std::string page_html(const Page& page);

// Text as it stands in HTML.
std::string html_text(const std::string& text);

}  // namespace megalith::search
