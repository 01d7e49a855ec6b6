#include "io/error_json.h"

#include <string>

namespace tapml {

Json error_json(const Error& error) {
  std::string kind = error_kind_name(error.kind);
  if (error.fault != PlatformFault::kNone) {
    kind += std::string(": ") + platform_fault_name(error.fault);
  }
  return Json::object({{"kind", Json::string(kind)},
                       {"message", Json::string(error.message)},
                       {"where", Json::string(error.where)},
                       {"expected", Json::string(error.expected)},
                       {"found", Json::string(error.found)},
                       {"hint", Json::string(error.hint)}});
}

}  // namespace tapml
