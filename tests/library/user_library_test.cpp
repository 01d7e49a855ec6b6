// The user's libraries: loading, patterns, direct calls, failures.
#include <fstream>

#include "library_program.h"
#include "support/expect_error.h"
#include "topdown/replay/replay.h"
#include "topdown/report/report.h"
#include "topdown/results/result_json.h"
#include "topdown/suite/carve.h"

namespace tapml {
namespace {

using device::HostLibrary;
using testing::compile_text;
using testing::cpu_session;
using testing::expect_matches_reference;
using testing::expect_parts;
using testing::expect_user_error;
using testing::library_file;
using testing::provider_of;
using testing::random_tensor;

const char* const kGated = R"(
def main(gate: Tensor((b, n, 8), f32), up: Tensor((b, n, 8), f32)) -> Tensor((b, n, 8), f32) {
  dataflow {
    a: Tensor((b, n, 8), f32) = silu(gate)
    y: Tensor((b, n, 8), f32) = multiply(a, up)
    output y
  }
  return y
}
)";

const char* const kDirect = R"(
def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    e: Tensor((n, 8), f32) = exp(x)
    y: Tensor((n, 8), f32) = call_dps_library(extern "scale", (e,), Tensor((n, 8), f32)) {parameters: [3]}
    z: Tensor((n, 8), f32) = negative(y)
    output z
  }
  return z
}
)";

std::shared_ptr<const HostLibrary> library(const std::string& name) {
  return unwrap(HostLibrary::load(library_file(name)));
}

library::LibraryOptions options(bool patterns = true) {
  library::LibraryOptions result;
  auto example = library("example");
  result.libraries = {{example->name(), example->routines()}};
  if (patterns) {
    std::ifstream file(TAPML_SOURCE_DIR "/examples/library/swiglu.txt");
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    result.patterns = text::parse(text, "swiglu.txt");
  }
  return result;
}

TEST(UserLibrary, IsLoaded) {
  auto example = library("example");
  EXPECT_EQ(example->name(), "example");
  ASSERT_EQ(example->routines().size(), 2u);
  EXPECT_EQ(example->routines().at("scale").text, "x: f32[*s] -> y: f32[*s]; factor");
  EXPECT_EQ(example->find("solve"), nullptr);
}

TEST(UserLibrary, RefusesFilesThatAreNotLibraries) {
  auto refused = [](const std::string& file, const std::vector<std::string>& parts) {
    auto result = HostLibrary::load(file);
    ASSERT_FALSE(result) << file;
    EXPECT_EQ(result.error().kind, ErrorKind::kUser);
    expect_parts(result.error(), parts);
  };
  refused(library_file("nobody"), {"nobody.so"});
  refused(TAPML_SOURCE_DIR "/README.md", {"README.md", "shared object"});
  refused(library_file("example_version"), {"version", "2", "999", "example_version.so"});
  refused("libm.so.6", {"libm.so.6"});  // not from the system's folders
}

TEST(UserLibrary, RefusesIncompleteTables) {
  auto run = [](const tapml_library_call*) { return int32_t{0}; };
  constexpr const char* kNone = "-> y: any[]";
  const tapml_routine good = {"f", run, kNone}, twice[] = {{"f", run, kNone}, {"f", run, kNone}},
                      empty = {"f", nullptr, kNone}, spaced = {"f g", run, kNone},
                      unsigned_one = {"f", run, nullptr}, unread = {"f", run, "y: f32[n"};
  auto refused = [](tapml_library table, const std::string& part) {
    auto result = HostLibrary::wrap(&table, "here");
    ASSERT_FALSE(result) << part;
    expect_parts(result.error(), {part, "here"});
  };
  EXPECT_FALSE(HostLibrary::wrap(nullptr, "here"));
  refused({2, 1, nullptr, &good, nullptr, nullptr}, "no name");
  refused({2, 1, "a.b", &good, nullptr, nullptr}, "no name");
  refused({2, 0, "a", &good, nullptr, nullptr}, "no routines");
  refused({2, 1, "a", nullptr, nullptr, nullptr}, "no routines");
  refused({2, 2, "a", twice, nullptr, nullptr}, "routine 1");
  refused({2, 1, "a", &empty, nullptr, nullptr}, "routine 0");
  refused({2, 1, "a", &spaced, nullptr, nullptr}, "routine 0");
  refused({2, 1, "a", &unsigned_one, nullptr, nullptr}, "no signature");
  refused({2, 1, "a", &unread, nullptr, nullptr}, "routine f");
  refused({2, 1, "a", &good, nullptr, [](void*) {}}, "open and close");
}

TEST(UserLibrary, ImplementsThePatternsThatNameIt) {
  auto executable = compile_text(kGated, "cpu", options());
  EXPECT_EQ(provider_of(*executable, "silu_multiply"), "library:example.swiglu");
  auto session = cpu_session({library("example")});
  for (int64_t n : {0, 1, 7}) {
    expect_matches_reference(
        *session, executable, kGated,
        {random_tensor(DType::kF32, {2, n, 8}, 1), random_tensor(DType::kF32, {2, n, 8}, 2)});
  }
  EXPECT_TRUE(provider_of(*compile_text(kGated, "cpu:libs=off", options()), "silu_multiply")
                  .starts_with("schedule:"));
}

Status run(runtime::Session& session, std::shared_ptr<const Executable> executable,
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

TEST(UserLibrary, IsMissing) {
  auto session = cpu_session();
  auto status = run(*session, compile_text(kGated, "cpu", options()), {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kPlatform);
  EXPECT_EQ(status.error().fault, PlatformFault::kAbsent);
  expect_parts(status.error(), {"example", "--library"});
}

TEST(UserLibrary, FailsWithItsName) {
  auto session = cpu_session({library("example_fails")});
  auto status =
      run(*session, compile_text(kGated, "cpu", options()),
          {random_tensor(DType::kF32, {2, 3, 8}, 1), random_tensor(DType::kF32, {2, 3, 8}, 2)});
  ASSERT_FALSE(status);
  expect_parts(status.error(), {"swiglu", "example", "out of patience"});
}

TEST(UserLibrary, IsCalledDirectly) {
  auto executable = compile_text(kDirect, "cpu", options(false));
  EXPECT_EQ(provider_of(*executable, "scale"), "library:example.scale");
  auto session = cpu_session({library("example")});
  auto vm = unwrap(runtime::LocalVirtualMachine::create(*session, executable));
  HostTensor x = random_tensor(DType::kF32, {5, 8}, 1);
  std::vector<runtime::Value> args = {unwrap(runtime::upload(*session, x))};
  HostTensor z = unwrap(runtime::download(*unwrap(vm->call("main", args)).tensor()));
  for (int64_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(z.at_f64(i), -3 * std::exp(x.at_f64(i)), 1e-5 * std::exp(x.at_f64(i)));
  }
}

TEST(UserLibrary, DirectCallsNeedTheirLibrary) {
  for (const auto& [target, parts] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"cpu", {"routine scale", "--library"}}, {"opencl", {"only on cpu"}}}) {
    try {
      compile_text(kDirect, target);
      ADD_FAILURE() << target;
    } catch (const CompilerException& exception) {
      EXPECT_EQ(exception.error().kind, ErrorKind::kPlatform);
      expect_parts(exception.error(), parts);
    }
  }
  Module module = text::parse(kDirect, "direct");
  expect_user_error(
      [&] {
        interp::call(module, "main",
                     {interp::Value::tensor(op::RefTensor::zeros(DType::kF32, {2, 8}))});
      },
      {"scale", "no specification"});
}

TEST(UserLibrary, DirectCallsAreComparedWithTheSource) {
  auto executable = compile_text(kDirect, "cpu", options(false));
  auto session = cpu_session({library("example")});
  auto vm = unwrap(runtime::LocalVirtualMachine::create(*session, executable));
  topdown::Carver carver(*executable);
  vm->call_point().set_observer(&carver);
  std::vector<runtime::Value> args = {
      unwrap(runtime::upload(*session, random_tensor(DType::kF32, {5, 8}, 1)))};
  unwrap(vm->call("main", args));
  vm->call_point().set_observer(nullptr);
  topdown::Suite suite = carver.take();
  ASSERT_EQ(suite.kernels.size(), 3u);
  topdown::KernelReference reference(suite);
  pipeline::ImplementOptions implement;
  implement.libraries = options(false);
  auto again = pipeline::implement(reference.module(), target::parse_target("cpu"), implement);
  auto runner = unwrap(runtime::KernelRunner::create(*session, again));
  int direct = 0;
  for (int32_t k = 0; k < 3; ++k) {
    auto verdict = unwrap(topdown::replay_kernel(suite, reference, k, *runner));
    EXPECT_TRUE(verdict.passed) << verdict.kernel;
    if (!verdict.against_source) continue;
    ++direct;
    EXPECT_EQ(verdict.provider, "library:example.scale");
    const TableLayout table = topdown::verdict_table({verdict.kernel}, 80, false);
    EXPECT_NE(topdown::verdict_row(table, verdict, "pass").find("source only"), std::string::npos);
    EXPECT_TRUE(topdown::verdict_json(verdict).find("against_source_only")->as_bool());
  }
  EXPECT_EQ(direct, 1);
}

}  // namespace
}  // namespace tapml
