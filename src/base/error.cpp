#include "base/error.h"

namespace tapml {

std::string Error::to_string() const {
  std::string text = message;
  auto add = [&text](const char* name, const std::string& value) {
    if (!value.empty()) text += std::string("\n  ") + name + ": " + value;
  };
  add("where", where);
  add("expected", expected);
  add("found", found);
  add("hint", hint);
  return text;
}

Error user_error(std::string message, std::string where, std::string expected, std::string found,
                 std::string hint) {
  return Error{ErrorKind::kUser,    PlatformFault::kNone, std::move(message), std::move(where),
               std::move(expected), std::move(found),     std::move(hint)};
}

Error platform_error(PlatformFault fault, std::string message, std::string where,
                     std::string hint) {
  return Error{ErrorKind::kPlatform, fault, std::move(message), std::move(where), "", "",
               std::move(hint)};
}

Error internal_error(std::string message, std::string where) {
  return Error{
      ErrorKind::kInternal, PlatformFault::kNone, std::move(message), std::move(where), "", "", ""};
}

const char* error_kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUser:
      return "user";
    case ErrorKind::kPlatform:
      return "platform";
    case ErrorKind::kInternal:
      return "internal";
  }
  return "internal";
}

const char* platform_fault_name(PlatformFault fault) {
  switch (fault) {
    case PlatformFault::kNone:
      return "none";
    case PlatformFault::kAbsent:
      return "absent";
    case PlatformFault::kLost:
      return "lost";
    case PlatformFault::kOutOfMemory:
      return "out of memory";
    case PlatformFault::kTimeout:
      return "timeout";
    case PlatformFault::kLimit:
      return "limit";
    case PlatformFault::kCancelled:
      return "cancelled";
    case PlatformFault::kProtocol:
      return "protocol";
    case PlatformFault::kCrash:
      return "crash";
    case PlatformFault::kUnauthorized:
      return "unauthorized";
    case PlatformFault::kCompile:
      return "compile";
  }
  return "none";
}

}  // namespace tapml
