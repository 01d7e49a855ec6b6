// Reads sound files: WAV and FLAC.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "audio/sound.h"
#include "base/result.h"

namespace tapml::audio {

// The sound of a file's bytes, its channels averaged. `source` names the file in errors. UserError
// for another format, a file that is empty, truncated or broken, samples that are not numbers, and
// for a sound of more than `longest` seconds, which is not read as a whole then.
Result<Sound> decode_sound(std::span<const std::byte> file, const std::string& source,
                           double longest);

// The same of a file.
Result<Sound> read_sound(const std::string& path, double longest);

}  // namespace tapml::audio
