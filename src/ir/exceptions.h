// The compiler's exceptions and their bridge to Result (architecture contract 11).
#pragma once

#include <functional>
#include <stdexcept>
#include <type_traits>

#include "base/result.h"

namespace tapml {

// The only exception that compiler components throw.
class CompilerException : public std::runtime_error {
 public:
  explicit CompilerException(Error error)
      : std::runtime_error(error.to_string()), error_(std::move(error)) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

[[noreturn]] void throw_error(Error error);
// The input is at fault.
[[noreturn]] void throw_user(std::string message, std::string where = "", std::string expected = "",
                             std::string found = "", std::string hint = "");
// A defect of the compiler.
[[noreturn]] void throw_internal(std::string message, std::string where = "");
[[noreturn]] void throw_platform(PlatformFault fault, std::string message, std::string where = "",
                                 std::string hint = "");

// Returns the value of a Result or throws its error. For compiler components that call the runtime.
template <class T>
T unwrap(Result<T> result) {
  if (!result) throw_error(std::move(result).error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Runs compiler code for callers that use Result: any exception becomes an Error (exceptions of the
// standard library become InternalError).
Error current_exception_error();
template <class F>
auto guard(F&& f) -> Result<std::invoke_result_t<F>> {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
      f();
      return {};
    } else {
      return f();
    }
  } catch (...) {
    return fail(current_exception_error());
  }
}

}  // namespace tapml
