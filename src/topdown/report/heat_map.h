// The errors of an output as a picture.
#pragma once

#include <string>

#include "topdown/reference_run/difference_map.h"

namespace tapml::topdown {

// The blocks, colored by their largest error over bound; blocks outside their bounds are also
// struck through. With a legend, and a sentence that says where those are.
std::string heat_map(const DifferenceMap& map);

// "12 of 1536 elements are outside of their bounds, in columns 1344 to 1535": zero-based, in the
// matrix that DifferenceMap makes of the output.
std::string difference_text(const DifferenceMap& map);

}  // namespace tapml::topdown
