// Checks of the errors that bad input causes.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "ir/exceptions.h"

namespace tapml::testing {

// The error's text contains all of `parts`.
inline void expect_parts(const Error& error, const std::vector<std::string>& parts) {
  const std::string text = error.to_string();
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in\n" << text;
  }
}

template <class Value>
PlatformFault fault_of(const Result<Value>& result) {
  return result ? PlatformFault::kNone : result.error().fault;
}

// `run` throws a UserError whose text contains all of `parts`.
template <class Run>
void expect_user_error(Run&& run, const std::vector<std::string>& parts) {
  try {
    run();
  } catch (const CompilerException& exception) {
    EXPECT_EQ(exception.error().kind, ErrorKind::kUser) << exception.error().to_string();
    expect_parts(exception.error(), parts);
    return;
  }
  ADD_FAILURE() << "no error; expected one about " << (parts.empty() ? "it" : parts[0]);
}

// The same for a PlatformError with this fault.
template <class Run>
void expect_platform_error(Run&& run, PlatformFault fault, const std::vector<std::string>& parts) {
  try {
    run();
  } catch (const CompilerException& exception) {
    EXPECT_EQ(exception.error().kind, ErrorKind::kPlatform) << exception.error().to_string();
    EXPECT_EQ(exception.error().fault, fault) << exception.error().to_string();
    expect_parts(exception.error(), parts);
    return;
  }
  ADD_FAILURE() << "no error; expected one about " << (parts.empty() ? "it" : parts[0]);
}

}  // namespace tapml::testing
