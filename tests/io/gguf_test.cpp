#include "io/gguf.h"

#include <gtest/gtest.h>

#include <bit>

#include "io/host/files.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"
#include "support/gguf_image.h"
#include "support/golden_path.h"

namespace tapml {
namespace {

using testing::GgufBytes;
using testing::GgufImage;

constexpr uint32_t kF32 = 0, kQ4_0 = 2;

Result<GgufFile> parse_text(const std::string& image) {
  return parse_gguf(std::as_bytes(std::span(image)), nullptr, "m.gguf");
}

// The text of the error; empty if the file is accepted.
std::string fault_of(const std::string& image) {
  const auto file = parse_text(image);
  if (file) return "";
  EXPECT_EQ(file.error().kind, ErrorKind::kUser);
  return file.error().to_string();
}

void expect_fault(const std::string& image, const std::vector<std::string>& parts) {
  const std::string text = fault_of(image);
  EXPECT_NE(text, "") << "accepted: " << parts[0];
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in\n" << text;
  }
}

TEST(Gguf, ReadsEveryTypeOfValue) {
  GgufImage image;
  image.value("u8", 0, GgufBytes().number<uint8_t>(200).string());
  image.value("i8", 1, GgufBytes().number<int8_t>(-3).string());
  image.value("u16", 2, GgufBytes().number<uint16_t>(60000).string());
  image.value("i16", 3, GgufBytes().number<int16_t>(-300).string());
  image.integer("u32", 4'000'000'000);
  image.value("i32", 5, GgufBytes().number<int32_t>(-70000).string());
  image.real("f32", 0.5f);
  image.boolean("bool", true);
  image.text("text", "a\nb");
  image.value("u64", 10, GgufBytes().number<uint64_t>(1ull << 62).string());
  image.value("i64", 11, GgufBytes().number<int64_t>(-5).string());
  image.value("f64", 12, GgufBytes().number(0.1).string());
  image.texts("texts", {"", "x", "\xff"});
  image.integers("integers", {1, -2});
  image.reals("reals", {0.25f, -1});
  image.value(
      "bools", 9,
      GgufBytes().number<uint32_t>(7).number<uint64_t>(2).raw("\1\0x").string().substr(0, 14));
  const std::string bytes = image.image();
  const auto file = parse_text(bytes);
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(file->version, 3);
  const auto integer = [&](const char* key) { return std::get<int64_t>(*file->find(key)); };
  EXPECT_EQ(integer("u8"), 200);
  EXPECT_EQ(integer("i8"), -3);
  EXPECT_EQ(integer("u16"), 60000);
  EXPECT_EQ(integer("i16"), -300);
  EXPECT_EQ(integer("u32"), 4'000'000'000);
  EXPECT_EQ(integer("i32"), -70000);
  EXPECT_EQ(integer("u64"), int64_t{1} << 62);
  EXPECT_EQ(integer("i64"), -5);
  EXPECT_EQ(std::get<double>(*file->find("f32")), 0.5);
  EXPECT_EQ(std::get<double>(*file->find("f64")), 0.1);
  EXPECT_EQ(std::get<bool>(*file->find("bool")), true);
  EXPECT_EQ(std::get<std::string_view>(*file->find("text")), "a\nb");
  EXPECT_EQ(std::get<std::vector<std::string_view>>(*file->find("texts")),
            (std::vector<std::string_view>{"", "x", "\xff"}));
  EXPECT_EQ(std::get<std::vector<int64_t>>(*file->find("integers")), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(std::get<std::vector<double>>(*file->find("reals")), (std::vector<double>{0.25, -1}));
  EXPECT_EQ(std::get<std::vector<bool>>(*file->find("bools")), (std::vector<bool>{true, false}));
  EXPECT_EQ(file->find("other"), nullptr);
}

TEST(Gguf, TensorsAreViewsOfTheFile) {
  const std::string data(24, '\x11'), block(36, '\x22');
  const std::string bytes = GgufImage()
                                .version(2)
                                .integer("general.alignment", 64)
                                .alignment(64)
                                .tensor("a", {3, 2}, kF32, data)
                                .tensor("b", {64, 1}, kQ4_0, block)
                                .image();
  const auto file = parse_text(bytes);
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(file->version, 2);
  ASSERT_EQ(file->tensors.size(), 2u);
  const GgufTensor &a = file->tensors[0], &b = file->tensors[1];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.type->name, "F32");
  EXPECT_EQ(a.shape, (Shape{2, 3}));
  EXPECT_EQ(a.bytes.size(), 24u);
  EXPECT_EQ(b.type->name, "Q4_0");
  EXPECT_EQ(b.shape, (Shape{1, 64}));
  ASSERT_EQ(b.bytes.size(), 36u);
  EXPECT_EQ(b.bytes.data() - a.bytes.data(), 64);
  EXPECT_EQ(b.bytes[0], std::byte{0x22});
}

TEST(Gguf, RefusesAnEmptyForeignOrTruncatedFile) {
  expect_fault("", {"not a GGUF", "an empty file"});
  expect_fault("GGU", {"not a GGUF"});
  expect_fault("GGJT\3\0\0\0", {"not a GGUF"});
  const std::string whole = GgufImage()
                                .text("general.architecture", "llama")
                                .texts("list", {"a", "b"})
                                .tensor("w", {8}, kF32, std::string(32, 'x'))
                                .image();
  ASSERT_EQ(fault_of(whole), "");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(fault_of(whole.substr(0, size)), "") << size << " of " << whole.size();
  }
}

TEST(Gguf, RefusesOtherVersionsAndByteOrders) {
  expect_fault(GgufImage().version(1).image(), {"another version", "version 2 or 3", "version 1"});
  expect_fault(GgufImage().version(4).image(), {"another version", "version 4"});
  expect_fault(GgufImage().version(0).image(), {"another version", "version 0"});
  expect_fault(GgufImage().version(std::byteswap(3u)).image(), {"byte order", "big-endian"});
}

TEST(Gguf, RefusesCountsBeyondTheFile) {
  const auto counts = [](uint64_t tensors, uint64_t values) {
    return GgufBytes().raw("GGUF").number(3u).number(tensors).number(values).pad(256).string();
  };
  expect_fault(counts(1ull << 63, 0), {"number of tensors", "9223372036854775808"});
  expect_fault(counts(100, 0), {"number of tensors", "100"});
  expect_fault(counts(0, ~0ull), {"number of values", "18446744073709551615"});
  // A count that is too small for the file makes its tensors begin too early, or is harmless.
  EXPECT_EQ(fault_of(counts(0, 0)), "");
}

TEST(Gguf, RefusesTextsAndArraysBeyondTheFile) {
  const auto with = [](uint32_t type, const std::string& bytes) {
    return GgufImage().value("some.key", type, bytes).image();
  };
  const std::string half = GgufBytes().number(1ull << 63).string();
  expect_fault(with(GgufImage::kText, half),
               {"the value of \"some.key\"", "beyond the file", "9223372036854775808 bytes"});
  const auto array = [&](uint32_t type, uint64_t count) {
    return with(GgufImage::kArray, GgufBytes().number(type).number(count).string());
  };
  expect_fault(array(GgufImage::kText, 1ull << 61), {"some.key", "ends beyond", "items"});
  expect_fault(array(0, ~0ull), {"some.key", "ends beyond the file"});
  expect_fault(array(GgufImage::kArray, 1), {"some.key", "array of arrays"});
  expect_fault(array(13, 0), {"some.key", "unknown type", "13"});
  expect_fault(with(13, ""), {"some.key", "unknown type", "from 0 to 12"});
  expect_fault(with(GgufImage::kBool, "\2"), {"some.key", "no truth value", "2"});
  expect_fault(with(10, half), {"some.key", "too large", "below 2^63"});
  // The key itself.
  expect_fault(
      GgufBytes().raw("GGUF").number(3u).number(0ull).number(1ull).raw(half).pad(64).string(),
      {"key 0", "beyond the file"});
}

TEST(Gguf, RefusesWhatIsThereTwice) {
  expect_fault(GgufImage().integer("k", 1).integer("k", 1).image(), {"\"k\"", "twice"});
  expect_fault(GgufImage()
                   .tensor("w", {8}, kF32, std::string(32, 'x'))
                   .tensor("w", {8}, kF32, std::string(32, 'x'))
                   .image(),
               {"tensor \"w\"", "twice"});
}

TEST(Gguf, RefusesAWrongAlignment) {
  for (const uint32_t alignment : {0u, 3u, 48u, 1u << 31}) {
    expect_fault(GgufImage().integer("general.alignment", alignment).image(),
                 {"general.alignment", "power of two", std::to_string(alignment)});
  }
  expect_fault(GgufImage().text("general.alignment", "32").image(),
               {"general.alignment", "a text"});
}

TEST(Gguf, RefusesTensorsThatDoNotFit) {
  const std::string data(64, 'x');
  const auto at = [&](std::vector<uint64_t> extents, uint32_t type, uint64_t offset) {
    return GgufImage().tensor_at("w", std::move(extents), type, offset, data).image();
  };
  ASSERT_EQ(fault_of(at({16}, kF32, 0)), "");
  expect_fault(at({16}, kF32, 32), {"\"w\"", "beyond the file", "64 bytes from offset 32"});
  expect_fault(at({16}, kF32, ~0ull - 31), {"\"w\"", "beyond the file"});
  expect_fault(at({8}, kF32, 16), {"\"w\"", "misaligned", "multiple of 32", "16"});
  expect_fault(at({17}, kF32, 0), {"\"w\"", "beyond the file"});
  expect_fault(at({}, kF32, 0), {"\"w\"", "dimensions", "1 to 4", "0"});
  expect_fault(at({1, 1, 1, 1, 1}, kF32, 0), {"\"w\"", "dimensions", "5"});
  expect_fault(at({1ull << 63}, kF32, 0), {"\"w\"", "too large"});
  expect_fault(at({1ull << 32, 1ull << 31}, kF32, 0), {"\"w\"", "too large"});
  expect_fault(at({1ull << 62}, kF32, 0), {"\"w\"", "too large"});
  expect_fault(at({33}, kQ4_0, 0), {"\"w\"", "whole blocks", "multiple of 32 in Q4_0", "[33]"});
  expect_fault(at({16}, 4, 0), {"\"w\"", "not supported", "Q4_0", "unknown type 4"});
  expect_fault(at({16}, 16, 0), {"\"w\"", "not supported", "IQ2_XXS"});
  expect_fault(at({16}, 0xFFFFFFFF, 0), {"\"w\"", "unknown type 4294967295"});
  expect_fault(
      GgufImage().tensor_at("v", {16}, kF32, 0, data).tensor_at("w", {8}, kF32, 32, data).image(),
      {"\"w\"", "overlaps tensor \"v\"", "at least 64"});
  // Tensors without elements overlap nothing.
  EXPECT_EQ(fault_of(GgufImage()
                         .tensor_at("v", {16}, kF32, 0, data)
                         .tensor_at("w", {0}, kF32, 32, "")
                         .image()),
            "");
}

// Random blocks of each type, and what the package gguf makes of them.
TEST(GgufBlocks, ValuesEqualThePackagesBitForBit) {
  const MappedFile mapped = unwrap(map_file(testing::golden_path("gguf/blocks.safetensors")));
  const auto golden = unwrap(parse_safetensors(mapped.bytes, mapped.owner, "blocks")).tensors;
  for (const GgufType& type : gguf_types()) {
    const std::string name(type.name);
    SCOPED_TRACE(name);
    ASSERT_TRUE(golden.contains(name + ".blocks"));
    const HostTensor &blocks = golden.at(name + ".blocks"), &values = golden.at(name + ".values");
    ASSERT_EQ(blocks.shape()[1], static_cast<int64_t>(type.block_bytes));
    ASSERT_EQ(values.size(), blocks.shape()[0] * type.elements);
    std::vector<float> own(static_cast<size_t>(values.size()));
    dequantize_gguf(type, blocks.bytes().data(), own);
    int64_t different = 0;
    for (size_t i = 0; i < own.size(); ++i) {
      different +=
          std::bit_cast<uint32_t>(own[i]) != std::bit_cast<uint32_t>(values.values<float>()[i]) ? 1
                                                                                                : 0;
    }
    EXPECT_EQ(different, 0);
  }
  EXPECT_EQ(golden.size(), 2 * gguf_types().size());
}

}  // namespace
}  // namespace tapml
