// Sound in memory.
#pragma once

#include <cstdint>
#include <vector>

namespace tapml::audio {

// One channel.
struct Sound {
  int64_t rate = 0;            // samples per second
  std::vector<float> samples;  // finite; full scale is from -1 to 1
};

}  // namespace tapml::audio
