// The program that runs a model's published implementation. Internal to reference_run/.
#pragma once

namespace tapml::topdown {

// Exit code of the program if PyTorch or transformers is not installed.
inline constexpr int kNoPublishedPackages = 3;

// Python, run as `python FILE REQUEST.json` (published_run.cpp writes the request).
extern const char* const kPublishedProgram;

}  // namespace tapml::topdown
