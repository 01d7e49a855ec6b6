// Result<T>: a value or an Error. The runtime libraries return it and never throw.
#pragma once

#include <expected>
#include <utility>

#include "base/error.h"

namespace tapml {

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

// `return fail(user_error(...));`
inline std::unexpected<Error> fail(Error error) { return std::unexpected<Error>(std::move(error)); }

}  // namespace tapml

#define TAPML_CONCAT_INNER(a, b) a##b
#define TAPML_CONCAT(a, b) TAPML_CONCAT_INNER(a, b)

// Returns the error of a Status or Result expression if it has one.
#define TAPML_TRY(expression)                                                         \
  do {                                                                                \
    auto&& tapml_try_status = (expression);                                           \
    if (!tapml_try_status) return ::tapml::fail(std::move(tapml_try_status).error()); \
  } while (false)

// TAPML_ASSIGN(auto x, f()): x is the value of the Result, or the error is returned.
#define TAPML_ASSIGN(declaration, expression) \
  TAPML_ASSIGN_INNER(TAPML_CONCAT(tapml_result_, __LINE__), declaration, expression)
#define TAPML_ASSIGN_INNER(result, declaration, expression)     \
  auto result = (expression);                                   \
  if (!result) return ::tapml::fail(std::move(result).error()); \
  declaration = std::move(*result)
