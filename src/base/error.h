// The three kinds of failure (architecture contract 11) as one plain value.
#pragma once

#include <string>

namespace tapml {

// Who is at fault: the input, the platform, or tapml itself.
enum class ErrorKind { kUser, kPlatform, kInternal };

// What went wrong on a platform. Other error kinds have kNone, except that the last two values
// refine kUser and kInternal errors. The numbers are part of the protocol: append new ones.
enum class PlatformFault {
  kNone,
  kAbsent,
  kLost,  // the connection or the device; not caused by the code that ran on it
  kOutOfMemory,
  kTimeout,
  kLimit,
  kCancelled,
  kProtocol,
  kCrash,         // the code that ran ended its process
  kUnauthorized,  // kUser: a server rejects the client's credentials
  kCompile,       // kInternal: a driver refuses the code that it is given
};
inline constexpr PlatformFault kLastFault = PlatformFault::kCompile;

// An error that a person can act on. `message` states the problem in one sentence; the other parts
// are optional: where (file, offset, field, function), what was expected, what was found, and what
// to do about it.
struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  PlatformFault fault = PlatformFault::kNone;
  std::string message;
  std::string where;
  std::string expected;
  std::string found;
  std::string hint;

  // All parts as text: one "name: value" line for each part that is present.
  std::string to_string() const;
};

Error user_error(std::string message, std::string where = "", std::string expected = "",
                 std::string found = "", std::string hint = "");
Error platform_error(PlatformFault fault, std::string message, std::string where = "",
                     std::string hint = "");
Error internal_error(std::string message, std::string where = "");

const char* error_kind_name(ErrorKind kind);           // "user", "platform", "internal"
const char* platform_fault_name(PlatformFault fault);  // "absent", "lost", ...

}  // namespace tapml
