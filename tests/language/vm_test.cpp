// Every case of the language, compiled and run by the virtual machine.
#include <gtest/gtest.h>

#include <set>

#include "fuzz/oracles/vm_values.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "pipeline/compile.h"
#include "runtime/local_virtual_machine.h"
#include "support/expect_error.h"
#include "support/language_case.h"
#include "support/sessions.h"
#include "text/parser.h"

namespace tapml {
namespace {

using testing::LanguageCall;
using testing::LanguageCase;

// In the notation of the cases: "add_relu(n)".
std::string kernel_text(const KernelInfo& kernel) {
  std::string scalars;
  for (const std::string& scalar : kernel.scalars) {
    scalars += (scalars.empty() ? "" : ", ") + scalar;
  }
  return kernel.name.substr(0, kernel.name.rfind('_')) + "(" + scalars + ")";
}

void expect_compiled(const LanguageCase& test, const Executable& executable) {
  std::set<std::string> kernels;
  for (const KernelInfo& kernel : executable.kernels) kernels.insert(kernel_text(kernel));
  for (const std::string& kernel : test.kernels) {
    EXPECT_TRUE(kernels.contains(kernel)) << kernel << " in " << ::testing::PrintToString(kernels);
  }
  if (test.storages.empty()) return;
  std::string storages;
  for (int64_t bytes : executable.static_storages) {
    storages += (storages.empty() ? "" : ", ") + std::to_string(bytes);
  }
  EXPECT_EQ(storages.empty() ? "none" : storages, test.storages);
}

// Whether the two may use different messages: their limits, errors of the test's host functions,
// and bounds of inlined code, which are checked at the call.
bool has_own_words(const LanguageCase& test, const Error& error) {
  const std::string& text = error.message;
  return text.starts_with("function calls are nested too deeply") ||
         text.starts_with("nobody offers ") ||
         (text.find("above its bound") != std::string::npos &&
          test.source.find("inline: true") != std::string::npos);
}

// The interpreter reports the same failure and location as the virtual machine, except for shapes
// without names before compilation, for which operators have their own messages.
void expect_same_words(const Module& module, const LanguageCall& call, const Error& error) {
  interp::CallOptions options;
  options.packed = testing::language_functions();
  Result<interp::Value> interpreted =
      guard([&] { return interp::call(module, call.function, call.args, options); });
  ASSERT_FALSE(interpreted);
  const std::string& message = interpreted.error().message;
  if (op::find_operator(message.substr(0, message.find(':')))) return;
  EXPECT_EQ(message, error.message);
  // The VM's backtrace follows.
  EXPECT_EQ(interpreted.error().where, error.where.substr(0, error.where.find('\n')));
  EXPECT_EQ(interpreted.error().expected, error.expected);
  EXPECT_EQ(interpreted.error().found, error.found);
}

class LanguageOnDevices : public ::testing::TestWithParam<std::tuple<const char*, LanguageCase>> {};

TEST_P(LanguageOnDevices, Runs) {
  const auto& [platform, test] = GetParam();
  if (!test.refused.empty()) return;
  auto session = testing::open_session(platform);
  if (!session) GTEST_SKIP() << platform << " is unavailable";
  Module module = text::parse(test.source, "case");
  pipeline::check_input(module, "case");
  pipeline::ImplementOptions options;
  options.instruments.verify = true;
  auto executable = pipeline::compile(module, target::parse_target(platform), options);
  expect_compiled(test, *executable);
  auto vm = runtime::LocalVirtualMachine::create(
      *session, executable, fuzz::machine_functions(*executable, testing::language_functions()));
  ASSERT_TRUE(vm) << vm.error().to_string();
  (*vm)->set_call_limit(100'000);
  for (const LanguageCall& call : test.calls) {
    SCOPED_TRACE(call.text);
    std::vector<runtime::Value> args;
    for (const interp::Value& arg : call.args) {
      args.push_back(fuzz::to_machine(*session, *executable, arg));
    }
    auto result = (*vm)->call(call.function, args);
    if (call.gives) {
      if (!result) {
        ADD_FAILURE() << result.error().to_string();
      } else {
        EXPECT_EQ(testing::difference(call.result, fuzz::from_machine(*result)), "");
      }
    } else if (result) {
      ADD_FAILURE() << "no error";
    } else if (call.endless) {
      testing::expect_parts(result.error(), {"a run makes more than 100000 calls"});
    } else {
      EXPECT_EQ(result.error().kind, ErrorKind::kUser) << result.error().to_string();
      testing::expect_parts(result.error(), call.fails);
      if (!has_own_words(test, result.error())) expect_same_words(module, call, result.error());
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
                         ::testing::Combine(::testing::Values("cpu", "opencl", "vulkan"),
                                            ::testing::ValuesIn(testing::load_storage_cases())),
                         case_and_platform);
INSTANTIATE_TEST_SUITE_P(
    Scalars, LanguageOnDevices,
    ::testing::Combine(::testing::Values("cpu", "opencl", "opencl:index=32", "vulkan", "wasm"),
                       ::testing::ValuesIn(testing::load_case_folder(TAPML_SOURCE_DIR
                                                                     "/tests/language/scalars"))),
    case_and_platform);

}  // namespace
}  // namespace tapml
