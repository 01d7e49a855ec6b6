// Calls that a routine's signature forbids fail before the routine touches memory: at compile time
// if their types or dimensions are known, at load, or at the launch.
#include "library/routine_table.h"
#include "library_program.h"
#include "support/expect_error.h"

namespace tapml {
namespace {

using testing::compile_text;
using testing::cpu_session;
using testing::expect_parts;
using testing::expect_user_error;
using testing::library_file;
using testing::random_tensor;

// main(...) calls the routine; its parameters, then the parameters and results of main.
std::string calling(const std::string& routine, const std::string& parameters,
                    const std::vector<std::string>& inputs, const std::string& output) {
  std::string params, args;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    params += (i > 0 ? ", " : "") + name + ": Tensor(" + inputs[i] + ")";
    args += name + (i + 1 == inputs.size() && i > 0 ? "" : ", ");
  }
  return "module\ndef main(" + params + ") -> Tensor(" + output + ") {\n  y: Tensor(" + output +
         ") = call_dps_library(extern \"" + routine + "\", (" + args + "), Tensor(" + output +
         ")) {parameters: [" + parameters + "]}\n  return y\n}\n";
}

TEST(Signatures, BuiltInRoutinesRefuseOtherDtypesRanksAndShapes) {
  struct Case {
    const char *routine, *parameters;
    std::vector<std::string> inputs;
    const char* output;
    std::vector<std::string> parts;
  };
  const std::vector<Case> cases = {
      {"onednn.softmax", "1", {"(n, 8), f16"}, "(n, 8), f16", {"argument x", "f32", "f16"}},
      {"onednn.softmax", "1", {"(n, 8), f32"}, "(n, 8), f16", {"argument y", "f32", "f16"}},
      {"onednn.softmax", "1", {"(n, 8), f32"}, "(n, 9), f32", {"argument y", "8, as in x", "9"}},
      {"onednn.softmax", "", {"(n, 8), f32"}, "(n, 8), f32", {"1 parameter: axis", "0 param"}},
      {"openblas.matmul",
       "0, 0",
       {"(n, 4), f32", "(4, 4), f64"},
       "(n, 4), f32",
       {"argument b", "f32, as a", "f64"}},
      {"openblas.matmul",
       "0, 0",
       {"(n, 4), f64", "(4, 4), f32"},
       "(n, 4), f64",
       {"argument b", "f64, as a", "f32"}},
      {"openblas.matmul",
       "0, 0",
       {"(n, 4), i32", "(4, 4), i32"},
       "(n, 4), i32",
       {"argument a", "f32 or f64", "i32"}},
      {"openblas.matmul",
       "0, 0",
       {"(n, 4), f32", "(4,), f32"},
       "(n, 4), f32",
       {"argument b", "at least 2 dimensions", "1 dimension"}},
      {"openblas.matmul",
       "0, 1",
       {"(n, 4), f32", "(4, 5), f32"},
       "(n, 4), f32",
       {"argument b", "k = 4, as in a", "5"}},
      {"onednn.matmul",
       "0, 0, 0",
       {"(n, 4), f32", "(4, 5), f32", "(6,), f32"},
       "(n, 5), f32",
       {"argument bias", "n = 5", "6"}},
      {"onednn.matmul",
       "0, 0, 0",
       {"(n, 4), bf16", "(4, 5), f32"},
       "(n, 5), f32",
       {"argument a", "f32", "bf16"}},
      {"onednn.layer_norm",
       "0",
       {"(n, 4), f32", "(5,), f32", "(5,), f32"},
       "(n, 4), f32",
       {"argument weight", "4, as in x", "5"}},
      {"onednn.layer_norm",
       "0",
       {"(n, 4), f64", "(4,), f32", "(4,), f32"},
       "(n, 4), f32",
       {"argument x", "f32", "f64"}},
      {"onednn.convolution",
       "1, 1, 1, 0, 0, 0, 0, 1, 1",
       {"(n, 3, 8, 8), f32", "(4, 3, 3, 3), f16"},
       "(n, 4, 6, 6), f32",
       {"argument weight", "f32", "f16"}},
      {"onednn.convolution",
       "1, 1, 1, 0, 0, 0, 0, 1, 1",
       {"(n, 3, 8, 8), f32", "(4, 3, 3, 3), f32"},
       "(n, 5, 6, 6), f32",
       {"argument y", "filters = 4", "5"}},
  };
  for (const Case& one : cases) {
    const std::string text = calling(one.routine, one.parameters, one.inputs, one.output);
    std::vector<std::string> parts = one.parts;
    parts.push_back(std::string("routine ") + one.routine);
    expect_user_error([&] { compile_text(text, "cpu"); }, parts);
    // With known text positions, at the call.
    expect_user_error(
        [&] {
          library::check_routine_calls(
              text::parse(text, "program"), {},
              [](const std::string& function, const std::string& variable) {
                return "place of " + variable + " in " + function;
              });
        },
        {"place of y in main", one.parts[0]});
  }
  // The calls include every routine that tapml knows.
  for (const library::Library& library : library::libraries()) {
    for (const library::Routine& routine : library.routines) {
      const std::string name = std::string(library.name) + "." + routine.name;
      EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), [&](const Case& one) {
        return one.routine == name;
      })) << name;
    }
  }
}

Status run_main(runtime::Session& session, std::shared_ptr<const Executable> executable,
                const std::vector<HostTensor>& tensors) {
  TAPML_ASSIGN(auto vm, runtime::LocalVirtualMachine::create(session, std::move(executable)));
  std::vector<runtime::Value> args;
  for (const HostTensor& tensor : tensors) {
    TAPML_ASSIGN(runtime::Tensor uploaded, runtime::upload(session, tensor));
    args.emplace_back(uploaded);
  }
  TAPML_TRY(vm->call("main", args));
  return session.synchronize(runtime::kDefaultStream);
}

TEST(Signatures, HoldForRunTimeDimensions) {
  if (!device::is_library_installed("openblas")) GTEST_SKIP() << "no OpenBLAS";
  auto executable = compile_text(
      calling("openblas.matmul", "0, 0", {"(n, 4), f32", "(m, 3), f32"}, "(n, 3), f32"), "cpu");
  auto session = cpu_session();
  const HostTensor x = random_tensor(DType::kF32, {2, 4}, 1);
  EXPECT_TRUE(run_main(*session, executable, {x, random_tensor(DType::kF32, {4, 3}, 2)}));
  auto status = run_main(*session, executable, {x, random_tensor(DType::kF32, {5, 3}, 2)});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kUser);
  expect_parts(status.error(), {"argument b", "openblas.matmul", "k = 4, as in a", "5"});
}

// An executable may have been built for another version of the library.
TEST(Signatures, HoldForLoadedExecutables) {
  library::LibraryOptions lenient;
  lenient.libraries = {
      {"example",
       {{"scale", unwrap(parse_routine_signature("x: any[*s] -> y: any[*s]; factor", ""))}}}};
  auto executable =
      compile_text(calling("scale", "3", {"(n, 8), f16"}, "(n, 8), f16"), "cpu", lenient);
  auto session = cpu_session({unwrap(device::HostLibrary::load(library_file("example")))});
  auto status = run_main(*session, executable, {random_tensor(DType::kF16, {2, 8}, 1)});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kUser);
  expect_parts(status.error(), {"argument x", "example.scale", "f32", "f16"});
}

TEST(Signatures, PatternsOfTheUserAreRefusedWhereTheirRoutineDoesNotFit) {
  library::LibraryOptions options;
  auto example = unwrap(device::HostLibrary::load(library_file("example")));
  options.libraries = {{example->name(), example->routines()}};
  options.patterns = text::parse(
      "module\ndef halves(x: Tensor(ndim=2)) -> Object {pattern: true, library: \"example.scale\", "
      "parameters: [2]} {\n  dataflow {\n    y: Object = exp(x)\n    output y\n  }\n  return "
      "y\n}\n",
      "patterns");
  expect_user_error(
      [&] {
        compile_text(
            "module\ndef main(x: Tensor((n, 8), f16)) -> Tensor((n, 8), f16) {\n  dataflow "
            "{\n    y: Tensor((n, 8), f16) = exp(x)\n    output y\n  }\n  return y\n}\n",
            "cpu", options);
      },
      {"@halves", "argument x", "example.scale", "f32", "f16"});
}

}  // namespace
}  // namespace tapml
