// An output's differences as a picture.
#pragma once

#include <string>

#include "topdown/reference_run/difference_map.h"

namespace tapml::topdown {

// The blocks, coloured by their largest error over bound; those outside of it are also struck
// through. With a sentence that says where these are, and a legend.
std::string heat_map(const DifferenceMap& map);

// "12 of 1536 elements are outside of their bounds, in columns 1344 to 1535": zero-based, the
// matrix that DifferenceMap makes of the output.
std::string difference_text(const DifferenceMap& map);

}  // namespace tapml::topdown
