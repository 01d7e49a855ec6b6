// Every case of the language compiled and run by the virtual machine.
#include "runtime/vm.h"

#include <gtest/gtest.h>

#include "pipeline/check_input.h"
#include "pipeline/compile.h"
#include "support/expect_error.h"
#include "support/language_case.h"
#include "support/sessions.h"
#include "text/parser.h"

namespace tapml {
namespace {

using testing::LanguageCall;
using testing::LanguageCase;

// Values of the cases, there and back.
class Exchange {
 public:
  Exchange(runtime::Session& session, const Executable& executable)
      : session_(session), executable_(executable) {}

  runtime::Value in(const interp::Value& value) const {
    if (const auto* tensor = std::get_if<op::RefTensor>(&value.data)) {
      return unwrap(runtime::upload(session_, tensor->to_host()));
    }
    if (const auto* shape = std::get_if<std::vector<int64_t>>(&value.data)) return Shape(*shape);
    if (const auto* number = std::get_if<int64_t>(&value.data)) {
      return runtime::Prim{DType::kI64, *number};
    }
    if (const auto* scalar = std::get_if<interp::Scalar>(&value.data)) {
      return runtime::Prim{scalar->dtype, scalar->integer};
    }
    if (const auto* function = std::get_if<interp::FunctionValue>(&value.data)) {
      auto closure = std::make_shared<runtime::Closure>();
      closure->function = executable_.find_function(function->name);
      runtime::Value result;
      result.data = std::shared_ptr<const runtime::Closure>(std::move(closure));
      return result;
    }
    auto fields = std::make_shared<runtime::ValueList>();
    for (const interp::Value& field : value.as_tuple()) fields->push_back(in(field));
    runtime::Value result;
    result.data = std::shared_ptr<const runtime::ValueList>(std::move(fields));
    return result;
  }

  static interp::Value out(const runtime::Value& value) {
    if (const runtime::Tensor* tensor = value.tensor()) {
      return interp::Value::tensor(op::RefTensor::from(unwrap(runtime::download(*tensor))));
    }
    if (const Shape* shape = value.shape()) return interp::Value::shape(*shape);
    if (const runtime::Prim* prim = value.prim()) {
      if (prim->dtype == DType::kI64) return interp::Value::prim(prim->value);
      return interp::Value::scalar({prim->dtype, prim->value, 0});
    }
    if (const runtime::Closure* closure = value.closure()) {
      return interp::Value::function(closure->function->name);
    }
    interp::ValueList fields;
    for (const runtime::Value& field : *value.tuple()) fields.push_back(out(field));
    return interp::Value::tuple(std::move(fields));
  }

 private:
  runtime::Session& session_;
  const Executable& executable_;
};

// The cases' host functions for the machine; what they lack ends a call with an error that names
// it.
runtime::HostFunctions host_functions(const Executable& executable) {
  const interp::HostFunctions table = testing::language_functions();
  runtime::HostFunctions functions;
  for (const std::string& name : executable.packed) {
    functions[name] = [name, table, &executable](
                          runtime::Session& session,
                          std::span<const runtime::Value> args) -> Result<runtime::Value> {
      return guard([&] {
        auto it = table.find(name);
        if (it == table.end()) throw_user("nobody offers " + name);
        interp::ValueList list;
        for (const runtime::Value& arg : args) list.push_back(Exchange::out(arg));
        return Exchange(session, executable).in(it->second(list));
      });
    };
  }
  return functions;
}

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
  auto vm = runtime::VirtualMachine::create(*session, executable, host_functions(*executable));
  ASSERT_TRUE(vm) << vm.error().to_string();
  (*vm)->set_call_limit(100'000);
  Exchange exchange(*session, *executable);
  for (const LanguageCall& call : test.calls) {
    SCOPED_TRACE(call.text);
    std::vector<runtime::Value> args;
    for (const interp::Value& arg : call.args) args.push_back(exchange.in(arg));
    auto result = (*vm)->call(call.function, args);
    if (call.gives) {
      if (!result) {
        ADD_FAILURE() << result.error().to_string();
      } else {
        EXPECT_EQ(testing::difference(call.result, Exchange::out(*result)), "");
      }
    } else if (result) {
      ADD_FAILURE() << "no error";
    } else {
      EXPECT_EQ(result.error().kind, ErrorKind::kUser) << result.error().to_string();
      testing::expect_parts(result.error(), call.fails);
    }
  }
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<const char*, LanguageCase>>& info) {
  std::string name = std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param).name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Platforms, LanguageOnDevices,
                         ::testing::Combine(::testing::Values("cpu", "opencl"),
                                            ::testing::ValuesIn(testing::load_language_cases())),
                         name_of);

}  // namespace
}  // namespace tapml
