// The flags of `megalith plan` for several sites.
#pragma once
#include "cli/plan_flags.h"

namespace megalith {

void list_site_fields(PlanFlags& c, config::FieldList& f);

// Parses them, and adds what is wrong to the mistakes. Without --gpus, the sites give the number of GPUs.
void read_sites(PlanFlags& c, std::vector<std::string>& mistakes);

}  // namespace megalith
