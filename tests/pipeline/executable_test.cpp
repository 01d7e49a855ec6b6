// Compiled programs as files: an executable that is read back runs like the original, from several
// threads, and hostile files do no harm.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "codegen/llvm/native.h"
#include "exec/executable_file.h"
#include "exec/sections.h"
#include "ir/exceptions.h"
#include "pipeline/compile.h"
#include "runtime/host/shared_object.h"
#include "runtime/local_virtual_machine.h"
#include "support/sessions.h"
#include "text/parser.h"

namespace tapml {
namespace {

const char* const kExecutableProgram = R"(module {phase: "import", fusion_policy: "default"}

def main(x: Tensor((n, 4), f32), w: Tensor((4, 8), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    a: Tensor((n, 8), f32) = matmul(x, w) {transpose_b: false}
    b: Tensor((n, 8), f32) = silu(a)
    c: Tensor((n, 8), f32) = exp(b)
    d: Tensor((n, 8), f32) = add(c, a)
    output d
  }
  return d
}
)";

HostTensor ramp(Shape shape) {
  HostTensor tensor = HostTensor::zeros(DType::kF32, std::move(shape));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set_f64(i, static_cast<double>(i % 7) / 8 - 0.3);
  }
  return tensor;
}

std::shared_ptr<const Executable> compiled() {
  static const auto kExecutable = pipeline::compile(text::parse(kExecutableProgram, "program"),
                                                    target::parse_target("cpu:threads=1"));
  return kExecutable;
}

ExecutableFile as_file() {
  ExecutableFile file;
  file.executable = *compiled();
  for (ModuleBlob& blob : file.executable.modules) blob = codegen::link_shared(blob);
  file.compiler = "test";
  return file;
}

// Runs the program on 3 rows, in a separate session without a compiler.
Result<HostTensor> run_three_rows(std::shared_ptr<const Executable> executable,
                                  runtime::Session& session) {
  TAPML_ASSIGN(auto vm, runtime::LocalVirtualMachine::create(session, std::move(executable)));
  std::vector<runtime::Value> args;
  for (const HostTensor& input : {ramp({3, 4}), ramp({4, 8})}) {
    TAPML_ASSIGN(runtime::Tensor tensor, runtime::upload(session, input));
    args.emplace_back(std::move(tensor));
  }
  TAPML_ASSIGN(runtime::Value result, vm->call("main", args));
  if (!result.tensor()) return fail(internal_error("no tensor"));
  return runtime::download(*result.tensor());
}

std::unique_ptr<runtime::LocalSession> stem_session() {
  return runtime::LocalSession::create(
             std::make_shared<device::CpuDevice>(1, runtime::make_shared_object_loader()))
      .value();
}

std::vector<float> values(const HostTensor& tensor) {
  auto all = tensor.values<float>();
  return {all.begin(), all.end()};
}

TEST(ExecutableOnDisk, RunsWithoutACompiler) {
  auto jit = testing::open_session("cpu");
  auto expected = run_three_rows(compiled(), *jit);
  ASSERT_TRUE(expected) << expected.error().to_string();
  auto bytes = write_executable(as_file());
  ASSERT_TRUE(bytes) << bytes.error().to_string();
  auto file = read_executable(*bytes, nullptr, "file");
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(file->executable.modules[0].format, runtime::kSharedObjectFormat);
  auto session = stem_session();
  auto result = run_three_rows(std::make_shared<Executable>(file->executable), *session);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(values(*result), values(*expected));
}

TEST(ExecutableOnDisk, TheSameInputGivesTheSameBytes) {
  pipeline::ImplementOptions one, two;
  one.threads = 1;
  two.threads = 3;
  auto target = target::parse_target("cpu:threads=1");
  ExecutableFile a, b;
  a.executable = *pipeline::compile(text::parse(kExecutableProgram, "program"), target, one);
  b.executable = *pipeline::compile(text::parse(kExecutableProgram, "program"), target, two);
  for (ExecutableFile* file : {&a, &b}) {
    for (ModuleBlob& blob : file->executable.modules) blob = codegen::link_shared(blob);
  }
  EXPECT_EQ(write_executable(a).value(), write_executable(b).value());
}

TEST(ExecutableOnDisk, RefusedByAProcessorWithFewerFeatures) {
  auto session = stem_session();
  ExecutableFile file = as_file();
  file.executable.modules[0].features += ",+made-up";
  auto result = run_three_rows(std::make_shared<Executable>(file.executable), *session);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().fault, PlatformFault::kAbsent);
  EXPECT_NE(result.error().message.find("made-up"), std::string::npos);
  file.executable.modules[0].cpu = "z80";
  result = run_three_rows(std::make_shared<Executable>(file.executable), *session);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().fault, PlatformFault::kAbsent);
  EXPECT_NE(result.error().message.find("z80"), std::string::npos);
}

TEST(ExecutableOnDisk, VirtualMachinesShareOneExecutable) {
  auto bytes = write_executable(as_file()).value();
  auto file = read_executable(bytes, nullptr, "file");
  ASSERT_TRUE(file);
  auto executable = std::make_shared<const Executable>(std::move(file->executable));
  auto shared = stem_session();
  auto expected = values(run_three_rows(executable, *shared).value());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      // Half of the threads share one session, half have their own.
      auto own = t % 2 == 0 ? stem_session() : nullptr;
      for (int i = 0; i < 10; ++i) {
        auto result = run_three_rows(executable, own ? *own : *shared);
        ASSERT_TRUE(result) << result.error().to_string();
        ASSERT_EQ(values(*result), expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Altered bytes with recomputed checksums: an error, or a run without harm. The section of machine
// code is trusted and not altered.
TEST(ExecutableOnDisk, FlippedBytesWithValidChecksums) {
  auto bytes = write_executable(as_file()).value();
  auto untouched = read_executable(bytes, nullptr, "file");
  ASSERT_TRUE(untouched);
  // The code is the last section: its digest and the shared object.
  size_t code = bytes.size() - untouched->executable.modules[0].bytes.size() - kSectionAlignment;
  auto session = stem_session();
  int refused = 0, failed = 0, ran = 0;
  for (size_t i = 0; i < code; ++i) {
    const std::byte old = bytes[i];
    for (std::byte mask : {std::byte{0x01}, std::byte{0x80}}) {
      bytes[i] = old ^ mask;
      auto file = read_executable_unchecked(bytes, nullptr, "file");
      if (!file) {
        ++refused;
        continue;
      }
      auto result =
          run_three_rows(std::make_shared<Executable>(std::move(file->executable)), *session);
      ++(result ? ran : failed);
    }
    bytes[i] = old;
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(failed, 10);
  EXPECT_GT(ran, 10);
}

TEST(NativeCompiler, ReportsTheFirstFailure) {
  codegen::NativeCompiler compiler(*target::find_description("cpu"), 2);
  for (const char* name : {"a", "b"}) {
    codegen::DeviceFunc broken;
    broken.entry = name;
    broken.extent = 1;
    broken.body = tir::make_seq({});
    broken.item = make_var("item");
    broken.thread = make_var("thread");  // the cpu does not support work groups
    compiler.add(name, {broken});
  }
  try {
    compiler.finish();
    FAIL() << "nothing thrown";
  } catch (const CompilerException& e) {
    EXPECT_EQ(e.error().where, "a");
  }
}

}  // namespace
}  // namespace tapml
