#include "io/error_json.h"

namespace tapml {

std::string error_kind_text(const Error& error) {
  std::string kind = error_kind_name(error.kind);
  if (error.fault != PlatformFault::kNone) {
    kind += std::string(": ") + platform_fault_name(error.fault);
  }
  return kind;
}

bool read_error_kind(std::string_view text, Error& error) {
  Error found;
  for (const ErrorKind kind : {ErrorKind::kUser, ErrorKind::kPlatform, ErrorKind::kInternal}) {
    found.kind = kind;
    for (int fault = 0; fault <= static_cast<int>(kLastFault); ++fault) {
      found.fault = static_cast<PlatformFault>(fault);
      if (error_kind_text(found) != text) continue;
      error.kind = found.kind;
      error.fault = found.fault;
      return true;
    }
  }
  return false;
}

Json error_json(const Error& error) {
  return Json::object({{"kind", Json::string(error_kind_text(error))},
                       {"message", Json::string(error.message)},
                       {"where", Json::string(error.where)},
                       {"expected", Json::string(error.expected)},
                       {"found", Json::string(error.found)},
                       {"hint", Json::string(error.hint)}});
}

}  // namespace tapml
