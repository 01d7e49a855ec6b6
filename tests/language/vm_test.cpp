// Every case of the language compiled and run by the virtual machine.
#include "runtime/vm.h"

#include <gtest/gtest.h>

#include "pipeline/check_input.h"
#include "pipeline/compile.h"
#include "support/expect_error.h"
#include "support/language_case.h"
#include "support/sessions.h"
#include "support/vm_values.h"
#include "text/parser.h"

namespace tapml {
namespace {

using testing::LanguageCall;
using testing::LanguageCase;

class LanguageOnDevices : public ::testing::TestWithParam<std::tuple<const char*, LanguageCase>> {};

TEST_P(LanguageOnDevices, Runs) {
  const auto& [platform, test] = GetParam();
  if (!test.refused.empty()) return;
  auto session = testing::open_session(platform);
  if (!session) GTEST_SKIP() << platform << " is not here";
  Module module = text::parse(test.source, "case");
  pipeline::check_input(module, "case");
  pipeline::ImplementOptions options;
  options.instruments.verify = true;
  auto executable = pipeline::compile(module, target::parse_target(platform), options);
  auto vm = runtime::VirtualMachine::create(
      *session, executable, testing::machine_functions(*executable, testing::language_functions()));
  ASSERT_TRUE(vm) << vm.error().to_string();
  (*vm)->set_call_limit(100'000);
  for (const LanguageCall& call : test.calls) {
    SCOPED_TRACE(call.text);
    std::vector<runtime::Value> args;
    for (const interp::Value& arg : call.args) {
      args.push_back(testing::to_machine(*session, *executable, arg));
    }
    auto result = (*vm)->call(call.function, args);
    if (call.gives) {
      if (!result) {
        ADD_FAILURE() << result.error().to_string();
      } else {
        EXPECT_EQ(testing::difference(call.result, testing::from_machine(*result)), "");
      }
    } else if (result) {
      ADD_FAILURE() << "no error";
    } else {
      EXPECT_EQ(result.error().kind, ErrorKind::kUser) << result.error().to_string();
      testing::expect_parts(result.error(), call.fails);
    }
  }
}

std::string case_and_platform(
    const ::testing::TestParamInfo<std::tuple<const char*, LanguageCase>>& info) {
  std::string name = std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param).name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Platforms, LanguageOnDevices,
                         ::testing::Combine(::testing::Values("cpu", "opencl"),
                                            ::testing::ValuesIn(testing::load_language_cases())),
                         case_and_platform);
INSTANTIATE_TEST_SUITE_P(Storage, LanguageOnDevices,
                         ::testing::Combine(::testing::Values("cpu", "opencl"),
                                            ::testing::ValuesIn(testing::load_storage_cases())),
                         case_and_platform);

}  // namespace
}  // namespace tapml
