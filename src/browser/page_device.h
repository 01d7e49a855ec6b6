// The device of a page, for executables.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "io/json.h"
#include "runtime/local_session.h"

namespace tapml::browser {

// A session on the device that an executable for `target` needs; its progress goes to the page.
// `poll` is called between kernels. UserError for platforms that pages do not have; errors of the
// device.
Result<std::unique_ptr<runtime::LocalSession>> open_session(const std::string& target,
                                                            std::function<void()> poll);

// Platform, name, version and limits.
Json device_json(const DeviceInfo& info);

}  // namespace tapml::browser
