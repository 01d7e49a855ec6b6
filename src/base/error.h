// The three kinds of failure (architecture contract 11) as one plain value.
#pragma once

#include <string>

namespace tapml {

// Who is at fault: the input, the platform, or tapml itself.
enum class ErrorKind { kUser, kPlatform, kInternal };

// What went wrong on a platform. The other kinds have kNone, but for the last two, which say more
// of what is still the input's fault, or ours. Numbers of the protocol: new ones go to the end.
enum class PlatformFault {
  kNone,
  kAbsent,
  kLost,  // the way to it, or what it was; not by what ran there
  kOutOfMemory,
  kTimeout,
  kLimit,
  kCancelled,
  kProtocol,
  kCrash,         // what ran there ended its process
  kUnauthorized,  // kUser: a server does not know who asks
  kCompile,       // kInternal: a driver refuses the code that it is given
};
inline constexpr PlatformFault kLastFault = PlatformFault::kCompile;

// An error that a person can act on. `message` says what is wrong in one sentence; the rest is
// optional detail: where (file, offset, field, function), what was expected, what was found, and
// what to do about it.
struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  PlatformFault fault = PlatformFault::kNone;
  std::string message;
  std::string where;
  std::string expected;
  std::string found;
  std::string hint;

  // All parts as text, one "name: value" line per part that is present.
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
