// Changes the rate of sound.
#pragma once

#include <string>

#include "audio/sound.h"
#include "base/result.h"

namespace tapml::audio {

// The sound with `rate` samples per second: a filter of sinc form removes what the new rate cannot
// have. The sound itself if it has that rate. UserError, which names `source`, for rates that are
// more than 256 times apart.
Result<Sound> resampled(const Sound& sound, int64_t rate, const std::string& source);

}  // namespace tapml::audio
