// tapml devices --check.
#pragma once

#include "cli/command.h"

namespace tapml::cli {

// Runs the device's checks: one line each, "checks" and "passed" of `json`; true if all passed.
bool check_device(runtime::Session& session, const target::Target& target, const Output& output,
                  Json& json);
// Summarizes all devices (DeviceWork::conclude).
int conclude_checks(int64_t passed, int64_t checks, int64_t devices, const Output& output);

}  // namespace tapml::cli
