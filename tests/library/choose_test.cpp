// Which kernels a library implements: predicates over dtypes, shapes and targets, the user's
// patterns, and both kinds of code in one module.
#include "build/pattern.h"
#include "exec/executable_file.h"
#include "exec/validate.h"
#include "library_program.h"
#include "runtime/host/shared_object.h"
#include "support/expect_error.h"

namespace tapml {
namespace {

using testing::compile_text;
using testing::expect_matches_reference;
using testing::expect_parts;
using testing::expect_user_error;
using testing::provider_of;
using testing::random_tensor;

std::string product(const std::string& a, const std::string& b, const std::string& result,
                    const std::string& dtype = "f32") {
  return "def main(a: Tensor((" + a + "), " + dtype + "), b: Tensor((" + b + "), " + dtype +
         ")) -> Tensor((" + result + "), " + dtype + ") {\n  dataflow {\n    y: Tensor((" + result +
         "), " + dtype + ") = matmul(a, b)\n    output y\n  }\n  return y\n}\n";
}

std::string provider(const std::string& text, const std::string& target) {
  return provider_of(*compile_text(text, target), "matmul");
}

TEST(Choose, ChecksDtypesAndRanks) {
  EXPECT_EQ(provider(product("4, 5", "5, 6", "4, 6"), "cpu:libs=openblas"),
            "library:openblas.matmul");
  EXPECT_TRUE(provider(product("4, 5", "5, 6", "4, 6"), "cpu:libs=off").starts_with("schedule:"));
  EXPECT_TRUE(provider(product("5", "5, 6", "6"), "cpu:libs=openblas").starts_with("schedule:"));
  EXPECT_TRUE(provider(product("4, 5", "5, 6", "4, 6", "bf16"), "cpu:libs=openblas")
                  .starts_with("schedule:"));
  EXPECT_TRUE(
      provider(product("4, 5", "5, 6", "4, 6", "f64"), "cpu:libs=onednn").starts_with("schedule:"));
  // In the order of the table.
  EXPECT_EQ(provider(product("4, 5", "5, 6", "4, 6"), "cpu:libs=onednn+openblas"),
            "library:openblas.matmul");
  // The predicate does not exclude an empty reduction, and oneDNN has none.
  EXPECT_TRUE(
      provider(product("4, k", "k, 6", "4, 6"), "cpu:libs=onednn").starts_with("schedule:"));
}

TEST(Choose, OwnPatternsCanMatch) {
  for (const library::Library& own : library::libraries()) {
    for (const library::Pattern& pattern : own.patterns) {
      EXPECT_NO_THROW(build::check_pattern(*pattern.pattern(), own.name)) << pattern.routine;
    }
  }
}

TEST(Choose, RefusesUnknownNames) {
  expect_user_error([] { compile_text(product("4, 5", "5, 6", "4, 6"), "cpu:libs=mkl"); },
                    {"libs", "openblas", "onednn", "mkl"});
  expect_user_error([] { compile_text(product("4, 5", "5, 6", "4, 6"), "cpu:libs=openblas+"); },
                    {"libs"});
  expect_user_error([] { target::parse_target("opencl:libs=openblas"); }, {"libs", "opencl"});
}

// Two products of (b, 1024) by (1024, M); a predicate on the width selects the library's.
const char* const kTwoProducts = R"(
def main(x: Tensor((b, 1024), f32), v: Tensor((1024, 48), f32), w: Tensor((1024, 80), f32)) -> Tuple(Tensor((b, 48), f32), Tensor((b, 80), f32)) {
  dataflow {
    y: Tensor((b, 48), f32) = matmul(x, v)
    z: Tensor((b, 80), f32) = matmul(x, w)
    r: Tuple(Tensor((b, 48), f32), Tensor((b, 80), f32)) = (y, z)
    output r
  }
  return r
}
)";

const char* const kWide = R"(
def wide(x: Tensor((b, k), f32), w: Tensor((k, m), f32), c: Prim(bool, m >= 64)) -> Object {pattern: true, library: "openblas.matmul"} {
  dataflow {
    y: Object = matmul(x, w)
    output y
  }
  return y
}
)";

TEST(Choose, MixesLibraryAndGeneratedCode) {
  library::LibraryOptions options;
  options.patterns = text::parse(kWide, "patterns");
  auto executable = compile_text(kTwoProducts, "cpu", options);
  ASSERT_EQ(executable->implementations.size(), 2u);
  std::multiset<std::string> kinds;
  for (const Implementation& one : executable->implementations) {
    kinds.insert(one.provider.substr(0, one.provider.find(':')));
  }
  EXPECT_EQ(kinds, (std::multiset<std::string>{"library", "schedule"}));
  auto session = testing::cpu_session();
  for (int64_t b : {1, 5, 64}) {
    expect_matches_reference(
        *session, executable, kTwoProducts,
        {random_tensor(DType::kF32, {b, 1024}, 1), random_tensor(DType::kF32, {1024, 48}, 2),
         random_tensor(DType::kF32, {1024, 80}, 3)});
  }
}

// "auto" selects one of tapml's own libraries where it measured faster and is installed.
TEST(Choose, SelectsInstalledLibrariesThatMeasuredFaster) {
  const auto chosen = [](const std::string& text, const std::string& target, bool here) {
    library::LibraryOptions options;
    std::vector<std::string> asked;
    options.is_installed = [&](const std::string& name) {
      asked.push_back(name);
      return here;
    };
    const std::string provider =
        compile_text(text, target, options)->implementations.at(0).provider;
    return std::pair(provider.substr(0, provider.find(':')), asked);
  };
  const std::string large = product("8, 64, 64", "8, 64, 128", "8, 64, 128");
  const std::string few_rows = product("8, 63, 64", "8, 64, 128", "8, 63, 128");
  const std::string symbolic = product("8, n, 64", "8, 64, 128", "8, n, 128");
  const std::vector<std::string> onednn = {"onednn"};
  EXPECT_EQ(chosen(large, "cpu", true), std::pair(std::string("library"), onednn));
  EXPECT_EQ(chosen(large, "cpu", false), std::pair(std::string("schedule"), onednn));
  for (const std::string& text : {few_rows, symbolic}) {
    EXPECT_EQ(chosen(text, "cpu", true),
              std::pair(std::string("schedule"), std::vector<std::string>()));
  }
  for (const char* target : {"cpu:libs=off", "cpu@host:9000"}) {
    EXPECT_EQ(chosen(large, target, true),
              std::pair(std::string("schedule"), std::vector<std::string>()));
  }
  library::LibraryOptions unknown;
  EXPECT_EQ(compile_text(large, "cpu", unknown)->implementations.at(0).provider.substr(0, 8),
            "schedule");
}

TEST(Choose, PatternsMustNameKnownRoutines) {
  library::LibraryOptions options;
  std::string text = kWide;
  text.replace(text.find("openblas.matmul"), 15, "openblas.solve");
  options.patterns = text::parse(text, "patterns");
  expect_user_error([&] { compile_text(kTwoProducts, "cpu", options); },
                    {"@wide", "openblas.solve", "openblas.matmul"});
}

// An executable read from a file runs without a compiler.
TEST(Choose, ExecutablesHoldLibraryCalls) {
  const std::string text = product("n, 40", "40, 24", "n, 24");
  ExecutableFile file;
  file.executable = *compile_text(text, "cpu:libs=openblas");
  for (ModuleBlob& blob : file.executable.modules) {
    if (blob.format != kLibraryFormat) blob = codegen::link_shared(blob);
  }
  file.compiler = "test";
  auto bytes = write_executable(file);
  ASSERT_TRUE(bytes) << bytes.error().to_string();
  auto read = read_executable(*bytes, nullptr, "test");
  ASSERT_TRUE(read) << read.error().to_string();
  auto session = unwrap(runtime::LocalSession::create(
      std::make_shared<device::CpuDevice>(1, runtime::make_shared_object_loader())));
  expect_matches_reference(
      *session, std::make_shared<Executable>(read->executable), text,
      {random_tensor(DType::kF32, {9, 40}, 1), random_tensor(DType::kF32, {40, 24}, 2)});
}

TEST(Choose, ExecutablesAreChecked) {
  Executable good = *compile_text(product("n, 40", "40, 24", "n, 24"), "cpu:libs=openblas");
  ASSERT_TRUE(validate(good));
  auto module = std::find_if(good.modules.begin(), good.modules.end(),
                             [](const ModuleBlob& blob) { return blob.format == kLibraryFormat; });
  ASSERT_NE(module, good.modules.end());
  const auto at = static_cast<size_t>(module - good.modules.begin());
  auto code = unwrap(read_library_module(*module));
  auto refused = [&](const std::string& part) {
    Executable bad = good;
    bad.modules[at] = write_library_module("cpu", code);
    Status status = validate(bad);
    ASSERT_FALSE(status) << part;
    expect_parts(status.error(), {part});
  };
  auto whole = code;
  code[0].inputs.pop_back();
  refused("buffers");
  code = whole;
  code[0].outputs[0].dims[0] = ScalarProgram::slot(7);
  refused("matmul");
  code = whole;
  code[0].outputs[0].dims[0].code.clear();
  refused("matmul");
  code = whole;
  code[0].outputs[0].dims.assign(65, ScalarProgram::constant(1));
  refused("dimensions");
  code.clear();
  refused("entry");
  for (size_t size = 0; size < module->bytes.size(); ++size) {
    Executable bad = good;
    bad.modules[at].bytes.resize(size);
    EXPECT_FALSE(validate(bad)) << size;
  }
  // Sizes beyond a buffer are refused before the library sees them.
  code = whole;
  code[0].inputs[0].dims[0] = ScalarProgram::constant(int64_t{1} << 40);
  Executable large = good;
  large.modules[at] = write_library_module("cpu", code);
  auto session = testing::cpu_session();
  auto vm =
      unwrap(runtime::LocalVirtualMachine::create(*session, std::make_shared<Executable>(large)));
  std::vector<runtime::Value> args;
  for (const HostTensor& tensor :
       {random_tensor(DType::kF32, {9, 40}, 1), random_tensor(DType::kF32, {40, 24}, 2)}) {
    args.emplace_back(unwrap(runtime::upload(*session, tensor)));
  }
  auto result = vm->call("main", args);
  Status end = result ? session->synchronize(runtime::kDefaultStream) : fail(result.error());
  ASSERT_FALSE(end);
  expect_parts(end.error(), {"smaller", "openblas.matmul"});
}

}  // namespace
}  // namespace tapml
