// The page about a campaign.
#pragma once

#include <string>

#include "fuzz/campaign/state.h"
#include "io/json.h"

namespace tapml::cli {

// In the folder of a campaign: what tapml fuzz triage found.
inline constexpr const char* kTriageFile = "triage.json";

// One self-contained page. `triaged`: the document of triage, or null; of a broken one, what can be
// read.
std::string campaign_page(const std::string& folder, const fuzz::CampaignState& state,
                          const Json& triaged);

}  // namespace tapml::cli
