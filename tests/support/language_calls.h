// Runs the calls of a graph language case (language_case.h) in the interpreter and checks them.
#pragma once

#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "support/expect_error.h"
#include "support/language_case.h"

namespace tapml::testing {

inline void expect_calls(const Module& module, const LanguageCase& test) {
  for (const LanguageCall& call : test.calls) {
    SCOPED_TRACE(call.text);
    interp::CallOptions options;
    options.packed = language_functions();
    options.max_tail_calls = 10'000;
    Result<interp::Value> result =
        guard([&] { return interp::call(module, call.function, call.args, options); });
    if (call.gives) {
      if (!result) {
        ADD_FAILURE() << result.error().to_string();
      } else {
        EXPECT_EQ(difference(call.result, *result), "");
      }
    } else if (result) {
      ADD_FAILURE() << "no error";
    } else {
      EXPECT_EQ(result.error().kind, ErrorKind::kUser);
      expect_parts(result.error(), call.fails);
      if (call.endless) expect_parts(result.error(), {"a loop does not end", "10000 iterations"});
    }
  }
}

}  // namespace tapml::testing
