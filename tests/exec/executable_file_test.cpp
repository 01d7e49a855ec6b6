#include "exec/executable_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/hash.h"
#include "exec/fields.h"
#include "exec/sections.h"
#include "io/host/files.h"
#include "ir/exceptions.h"

namespace tapml {
namespace {

ScalarProgram slot_times(int64_t slot, int64_t factor) {
  return {{{ScalarOp::kSlot, slot}, {ScalarOp::kConst, factor}, {ScalarOp::kMul, 0}}};
}

// One of everything that a file can hold.
ExecutableFile sample() {
  ExecutableFile file;
  Executable& e = file.executable;
  e.target = "null";
  e.fusion_policy = "default-1";
  e.model = {
      .architecture = "llama",
      .vocabulary = 100,
      .context = 64,
      .page_size = 32,
      .short_text = 48,
      .state = {{.name = "k_pool.0", .dtype = DType::kF16, .shape = {2, 8}, .window = 7},
                {.name = "sums", .kind = StateKind::kRecurrent, .shape = {3}}},
      .functions =
          {{"decode", {Role::kTokens, Role::kSlots}, {Role::kLogits}, {StateKind::kPaged}, true}},
      .weights = {"a", "b"},
      .image = ImageInput{7, 9, "<image>", "<", ">", "{row}", "/", "."}};
  // Every role.
  ModelFunction all{.name = "all", .inputs = {}, .outputs = {}, .state = {}};
  for (int role = 0; role < kRoles; ++role) all.inputs.push_back(static_cast<Role>(role));
  e.model.functions.push_back(all);
  KernelInfo kernel;
  kernel.name = "add_12345678";
  kernel.params = {{"x", DType::kF32, AccessMode::kIn, {ScalarProgram::slot(0)}},
                   {"y", DType::kBF16, AccessMode::kOut, {slot_times(0, 2)}}};
  kernel.scalars = {"n"};
  kernel.spec = "the spec";
  e.kernels = {kernel};
  Implementation implementation;
  implementation.workspaces = {
      {"w", DType::kF32, AccessMode::kWorkspace, {ScalarProgram::constant(7)}}};
  implementation.launches = {{"add_0", ScalarProgram::slot(0), 64, {0, 1, 2}, {0}}};
  implementation.provider = "schedule:fallback";
  e.implementations = {implementation};
  ModuleBlob blob{"cpu", "elf-shared", {}, {"add_0"}, "x86-64", "+avx2,+fma"};
  blob.bytes.assign(100, std::byte{0x5a});
  e.modules = {blob};
  e.call_sites = {{0, "main", {"layers.0", "layers.1"}}};
  VmFunction main;
  main.name = "main";
  main.params = {"x"};
  main.registers = 3;
  main.slots = 1;
  main.programs = {slot_times(0, 4), ScalarProgram::slot(0)};
  main.layouts = {{DType::kBF16, {0}}, {DType::kF32, {0, 1}, 1}};
  ValueCheck check;
  check.kind = ValueCheck::Kind::kTuple;
  check.fields.resize(1);
  check.fields[0].kind = ValueCheck::Kind::kTensor;
  check.fields[0].has_dtype = true;
  check.fields[0].ndim = 1;
  check.fields[0].has_dims = true;
  check.fields[0].dims = {{0, {}, "n"}, {-1, slot_times(0, 3), "3 * n"}};
  check.where = "parameter x of main";
  main.checks = {check};
  main.sources = {{"n", "n + 1", "dimension 0 of parameter x"}};
  main.code = {
      {Opcode::kCheck, 0, 0, 0, {}, {}},        {Opcode::kAllocStorage, 1, 0, 0, {}, {}},
      {Opcode::kMakeTensor, 2, 1, 0, {}, {}},   {Opcode::kCallKernel, 0, 0, 0, {0, 2}, {1}},
      {Opcode::kLoadConstant, 1, 1, 0, {}, {}}, {Opcode::kReturn, 2, 0, 0, {}, {}}};
  e.functions = {main};
  std::vector<float> values = {1, 2, 3};
  e.constants = {HostTensor::from<float>(DType::kF32, {3}, values),
                 HostTensor::zeros(DType::kI8, {5})};
  file.source = {
      "/models/x", {{"model.safetensors", 1234, 5678}}, {{"a", DType::kBF16, {3, 4}, "hash of a"}}};
  file.compiler = "tapml 0.1.0";
  file.options = {{"target", "null"}};
  file.module = "module text";
  return file;
}

Result<ExecutableFile> read(std::span<const std::byte> bytes) {
  return read_executable(bytes, nullptr, "file.tapml");
}

TEST(ExecutableFile, ThePageHasTheVersion) {
  const std::string page =
      unwrap(read_text_file(std::string(TAPML_SOURCE_DIR) + "/docs/executable-format.md", 1 << 20));
  EXPECT_NE(page.find("format version: " + std::to_string(kExecutableVersion) + ";"),
            std::string::npos);
}

TEST(ExecutableFile, RoundTrip) {
  ExecutableFile file = sample();
  auto bytes = write_executable(file);
  ASSERT_TRUE(bytes) << bytes.error().to_string();
  auto again = read(*bytes);
  ASSERT_TRUE(again) << again.error().to_string();
  const Executable& e = again->executable;
  EXPECT_EQ(e.target, "null");
  EXPECT_EQ(e.fusion_policy, "default-1");
  EXPECT_TRUE(e.model == sample().executable.model);
  ASSERT_EQ(e.kernels.size(), 1u);
  EXPECT_EQ(e.kernels[0].spec, "the spec");
  EXPECT_EQ(e.kernels[0].params[1].dtype, DType::kBF16);
  EXPECT_EQ(e.kernels[0].params[1].mode, AccessMode::kOut);
  EXPECT_EQ(e.kernels[0].params[1].dims[0], slot_times(0, 2));
  EXPECT_EQ(e.implementations[0].launches[0].buffers, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(e.implementations[0].workspaces[0].dims[0], ScalarProgram::constant(7));
  EXPECT_EQ(e.modules[0].bytes, file.executable.modules[0].bytes);
  EXPECT_EQ(e.modules[0].features, "+avx2,+fma");
  EXPECT_EQ(e.call_sites[0].origin, (Origin{"layers.0", "layers.1"}));
  ASSERT_EQ(e.functions[0].code.size(), 6u);
  EXPECT_EQ(e.functions[0].code[3].list, (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(e.functions[0].checks[0].fields[0].dims[1].expression, "3 * n");
  EXPECT_EQ(e.functions[0].checks[0].fields[0].dims[1].equals, slot_times(0, 3));
  EXPECT_EQ(e.functions[0].sources, file.executable.functions[0].sources);
  ASSERT_EQ(e.constants.size(), 2u);
  EXPECT_EQ(e.constants[0].values<float>()[2], 3);
  EXPECT_EQ(e.constants[1].shape(), (Shape{5}));
  EXPECT_EQ(again->source.folder, "/models/x");
  EXPECT_EQ(again->source.files[0].modified, 5678);
  EXPECT_EQ(again->source.weights[0].hash, "hash of a");
  EXPECT_EQ(again->options, file.options);
  EXPECT_EQ(again->module, "module text");
  // The same content gives the same bytes.
  EXPECT_EQ(*write_executable(*again), *bytes);
}

TEST(ExecutableFile, EveryTruncationIsRefused) {
  auto bytes = *write_executable(sample());
  for (size_t size = 0; size < bytes.size(); ++size) {
    auto result = read(std::span(bytes).first(size));
    ASSERT_FALSE(result) << size;
    EXPECT_EQ(result.error().kind, ErrorKind::kUser);
  }
  EXPECT_NE(read(std::span(bytes).first(100)).error().message.find("truncated"), std::string::npos);
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(read(bytes));
}

TEST(ExecutableFile, EveryFlippedByteIsRefused) {
  auto bytes = *write_executable(sample());
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (std::byte mask : {std::byte{0x01}, std::byte{0x80}, std::byte{0xff}}) {
      bytes[i] ^= mask;
      auto result = read(bytes);
      ASSERT_FALSE(result) << "byte " << i;
      EXPECT_EQ(result.error().kind, ErrorKind::kUser) << "byte " << i;
      bytes[i] ^= mask;
    }
  }
}

// With recomputed checksums: for any changed byte the reader returns an error or a valid
// executable, never worse.
TEST(ExecutableFile, FlippedBytesWithValidChecksums) {
  auto bytes = *write_executable(sample());
  int refused = 0, read_well = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int mask : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      bytes[i] ^= static_cast<std::byte>(mask);
      auto result = read_executable_unchecked(bytes, nullptr, "file.tapml");
      ++(result ? read_well : refused);
      if (!result) {
        EXPECT_EQ(result.error().kind, ErrorKind::kUser) << "byte " << i;
      } else {
        auto whole = write_executable(*result);
        ASSERT_TRUE(whole) << "byte " << i << ": " << whole.error().to_string();
        EXPECT_TRUE(read(*whole)) << "byte " << i;
      }
      bytes[i] ^= static_cast<std::byte>(mask);
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read_well, 100);
}

TEST(ExecutableFile, NamesTheFault) {
  auto bytes = *write_executable(sample());
  auto expect = [&](size_t at, std::byte value, const char* text) {
    std::byte old = std::exchange(bytes[at], value);
    auto result = read(bytes);
    bytes[at] = old;
    ASSERT_FALSE(result) << text;
    EXPECT_NE(result.error().to_string().find(text), std::string::npos)
        << result.error().to_string();
  };
  expect(1, std::byte{'t'}, "not a tapml executable");
  expect(8, std::byte{9}, "version 9");
  expect(bytes.size() - 1, std::byte{0}, "altered");
  // The byte order of another machine, which is checked before the version.
  auto other = bytes;
  std::reverse(other.begin() + 12, other.begin() + 16);
  EXPECT_NE(read(other).error().message.find("byte order"), std::string::npos);
}

// Signatures are bound to the code that relies on them, even if all checksums match.
TEST(ExecutableFile, SignaturesBelongToTheirCode) {
  auto bytes = *write_executable(sample());
  auto signatures = std::string("add_12345678");
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  size_t at = text.find(signatures);
  ASSERT_NE(at, std::string::npos);
  bytes[at] = std::byte{'b'};
  auto result = read_executable_unchecked(bytes, nullptr, "file.tapml");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("other signatures"), std::string::npos)
      << result.error().to_string();
}

TEST(ExecutableFile, InvalidIsNotWritten) {
  ExecutableFile file = sample();
  file.executable.functions[0].code[0].a = 17;
  EXPECT_FALSE(write_executable(file));
}

TEST(ByteReader, LengthsAreNotTrusted) {
  ByteWriter writer;
  writer.integer(0xffffffff, 4);
  std::vector<std::byte> bytes = writer.take();
  ByteReader reader(bytes);
  std::vector<int64_t> list;
  reader(list);
  EXPECT_TRUE(reader.failed());
  EXPECT_EQ(list.capacity(), 0u);
  ByteReader text_reader(bytes);
  std::string text;
  text_reader(text);
  EXPECT_FALSE(text_reader.finish("here"));
}

TEST(ByteReader, NestingIsBounded) {
  ValueCheck check;
  for (int i = 0; i < 200; ++i) {
    ValueCheck outer;
    outer.kind = ValueCheck::Kind::kTuple;
    outer.fields = {std::move(check)};
    check = std::move(outer);
  }
  ByteWriter writer;
  writer(check);
  std::vector<std::byte> bytes = writer.take();
  ByteReader reader(bytes);
  ValueCheck again;
  reader(again);
  auto status = reader.finish("here");
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("too deep"), std::string::npos);
}

}  // namespace
}  // namespace tapml
