#include "io/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/rng.h"

namespace tapml {
namespace {

std::vector<std::byte> image_of(std::string_view header, size_t data_bytes,
                                std::optional<uint64_t> length = {}) {
  std::vector<std::byte> image(8 + header.size() + data_bytes);
  uint64_t claimed = length.value_or(header.size());
  std::memcpy(image.data(), &claimed, 8);
  std::memcpy(image.data() + 8, header.data(), header.size());
  return image;
}

Result<SafetensorsFile> parse_image(const std::vector<std::byte>& image) {
  return parse_safetensors(image, nullptr, "m.safetensors");
}

// Pads the header to a multiple of 8, so that the file has no other fault than the one under test.
Error fault(std::string header, size_t data_bytes) {
  header.resize((header.size() + 7) / 8 * 8, ' ');
  auto image = image_of(header, data_bytes);
  auto result = parse_image(image);
  EXPECT_FALSE(result) << header;
  if (result) return {};
  EXPECT_EQ(result.error().kind, ErrorKind::kUser);
  return result.error();
}

std::string entry(std::string_view name, std::string_view dtype, std::string_view shape, int begin,
                  int end) {
  return "\"" + std::string(name) + "\":{\"dtype\":\"" + std::string(dtype) +
         "\",\"shape\":" + std::string(shape) + ",\"data_offsets\":[" + std::to_string(begin) +
         "," + std::to_string(end) + "]}";
}

TEST(SafetensorsTest, RoundTripOfEveryDType) {
  std::map<std::string, HostTensor> tensors;
  for (DType dtype :
       {DType::kBool, DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kU16,
        DType::kU32, DType::kU64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    HostTensor tensor = HostTensor::zeros(dtype, {3, 1});
    for (int i = 0; i < 3; ++i) tensor.set_f64(i, i);
    tensors[dtype_name(dtype)] = tensor;
  }
  tensors["empty"] = HostTensor::zeros(DType::kF32, {0, 7});
  tensors["scalar"] = HostTensor::zeros(DType::kF32, {});
  tensors["odd \"name\"\n"] = HostTensor::zeros(DType::kU8, {1});
  std::map<std::string, std::string> metadata = {{"format", "pt"}};
  auto image = write_safetensors(tensors, metadata);
  auto file = parse_image(image);
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(file->metadata, metadata);
  ASSERT_EQ(file->tensors.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const HostTensor& back = file->tensors.at(name);
    EXPECT_EQ(back.dtype(), tensor.dtype());
    EXPECT_EQ(back.shape(), tensor.shape());
    EXPECT_EQ(content_hash(back), content_hash(tensor)) << name;
  }
  EXPECT_EQ(image, write_safetensors(file->tensors, file->metadata));
}

TEST(SafetensorsTest, ImageIsTheDocumentedFormat) {
  const float values[] = {1, 2};
  auto image = write_safetensors({{"b", HostTensor::from<float>(DType::kF32, {2}, values)},
                                  {"a", HostTensor::zeros(DType::kBool, {3})}});
  const std::string_view header = R"({"a":{"dtype":"BOOL","shape":[3],"data_offsets":[8,11]},)"
                                  R"("b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
  uint64_t length = 0;
  std::memcpy(&length, image.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  EXPECT_EQ(text.substr(8, header.size()), header);
  EXPECT_EQ(text.substr(8 + header.size(), length - header.size()).find_first_not_of(' '),
            std::string_view::npos);
  EXPECT_EQ(image.size(), 8 + length + 11);
}

TEST(SafetensorsTest, TensorsAreViewsThatKeepTheImageAlive) {
  auto image = std::make_shared<std::vector<std::byte>>(
      write_safetensors({{"x", HostTensor::zeros(DType::kF32, {4})}}));
  std::weak_ptr<std::vector<std::byte>> watch = image;
  const std::byte* end = image->data() + image->size();
  auto file = parse_safetensors(*image, image, "m");
  ASSERT_TRUE(file);
  image.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(file->tensors.at("x").bytes().data(), end - 16);
  file->tensors.clear();
  EXPECT_TRUE(watch.expired());
}

TEST(SafetensorsTest, NoTensors) {
  EXPECT_TRUE(parse_image(image_of("{}", 0)));
  EXPECT_EQ(parse_image(write_safetensors({}))->tensors.size(), 0u);
}

TEST(SafetensorsTest, TheHeaderAloneSaysWhereTensorsAre) {
  const std::map<std::string, HostTensor> tensors = {{"a", HostTensor::zeros(DType::kU8, {3})},
                                                     {"b", HostTensor::zeros(DType::kF32, {2, 2})}};
  const std::vector<std::byte> image = write_safetensors(tensors);
  const auto size = static_cast<int64_t>(image.size());
  const auto header_bytes = safetensors_header_bytes(std::span(image).first(8), size, "m");
  ASSERT_TRUE(header_bytes) << header_bytes.error().to_string();
  EXPECT_EQ(*header_bytes, size - 19);
  const auto header = std::span(image).first(static_cast<size_t>(*header_bytes));
  const auto entries = parse_safetensors_header(header, size, "m");
  ASSERT_TRUE(entries) << entries.error().to_string();
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ((*entries)[0].name, "b") << "wide elements come first";
  EXPECT_EQ((*entries)[0].shape, (Shape{2, 2}));
  EXPECT_EQ((*entries)[0].begin, size - 19);
  EXPECT_EQ((*entries)[1].begin, size - 3);
  EXPECT_EQ((*entries)[1].end, size);
}

TEST(SafetensorsFaultTest, HeadersOfOtherFiles) {
  const std::vector<std::byte> image =
      write_safetensors({{"a", HostTensor::zeros(DType::kU8, {3})}});
  const auto size = static_cast<int64_t>(image.size());
  const auto longer = parse_safetensors_header(image, size + 1, "m");
  ASSERT_FALSE(longer);
  EXPECT_NE(longer.error().message.find("bytes that belong to no tensor"), std::string::npos);
  EXPECT_FALSE(parse_safetensors_header(image, size - 1, "m"));
  EXPECT_FALSE(parse_safetensors_header(image, 4, "m"));
  EXPECT_FALSE(parse_safetensors_header(std::span(image).first(9), size, "m"));
  EXPECT_FALSE(safetensors_header_bytes(std::span(image).first(7), size, "m"));
  EXPECT_FALSE(safetensors_header_bytes(image, 20, "m"));
}

TEST(SafetensorsFaultTest, EmptyAndTruncatedFiles) {
  EXPECT_EQ(parse_image({}).error().message, "m.safetensors: the file is empty");
  EXPECT_EQ(parse_image(std::vector<std::byte>(7)).error().message,
            "m.safetensors: the file is truncated");
  Error error = parse_image(image_of("{}", 0, 3)).error();
  EXPECT_EQ(error.message, "m.safetensors: the file is truncated within its header");
  EXPECT_EQ(error.expected, "3 bytes of header");
  EXPECT_EQ(error.found, "2 bytes");
  auto image = write_safetensors({{"x", HostTensor::zeros(DType::kF32, {4})}});
  for (size_t length = 0; length < image.size(); ++length) {
    std::vector<std::byte> part(image.begin(), image.begin() + static_cast<long>(length));
    auto result = parse_image(part);
    ASSERT_FALSE(result) << length;
    EXPECT_EQ(result.error().kind, ErrorKind::kUser);
  }
}

TEST(SafetensorsFaultTest, HeaderTooLong) {
  for (uint64_t length : {uint64_t{100'000'001}, uint64_t{1} << 63, ~uint64_t{0}}) {
    Error error = parse_image(image_of("{}", 0, length)).error();
    EXPECT_EQ(error.message, "m.safetensors: the header is too long");
    EXPECT_EQ(error.expected, "at most 100000000 bytes");
    EXPECT_EQ(error.found, std::to_string(length) + " bytes");
  }
}

TEST(SafetensorsFaultTest, HeaderNotJson) {
  Error error = fault("not json", 0);
  EXPECT_EQ(error.message, "m.safetensors (header) is not valid JSON");
  EXPECT_EQ(error.where, "m.safetensors (header):1:1");
  EXPECT_EQ(fault("", 0).message, "m.safetensors (header) is not valid JSON");
  EXPECT_EQ(fault("[]", 0).message, "m.safetensors: the header is not an object");
  EXPECT_EQ(fault("{} x", 0).expected, "the end of the file");
  EXPECT_EQ(
      fault("{" + entry("a", "U8", "[0]", 0, 0) + "," + entry("a", "U8", "[0]", 0, 0) + "}", 0)
          .message,
      "m.safetensors (header) has the key \"a\" twice");
}

TEST(SafetensorsFaultTest, HeaderNestedDeeply) {
  EXPECT_EQ(fault(std::string(100000, '['), 0).message,
            "m.safetensors (header) is nested too deeply");
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_EQ(fault(objects + "1" + std::string(100000, '}'), 0).message,
            "m.safetensors (header) is nested too deeply");
}

TEST(SafetensorsFaultTest, MalformedEntries) {
  EXPECT_EQ(fault(R"({"x":1})", 0).message, "m.safetensors (header): \"x\" is not an object");
  EXPECT_EQ(fault(R"({"x":{}})", 0).message, "m.safetensors (header): \"x.dtype\" is missing");
  EXPECT_EQ(fault(R"({"x":{"dtype":"F32","data_offsets":[0,0]}})", 0).message,
            "m.safetensors (header): \"x.shape\" is missing");
  EXPECT_EQ(fault(R"({"x":{"dtype":"F32","shape":[0]}})", 0).message,
            "m.safetensors (header): \"x.data_offsets\" is missing");
  EXPECT_EQ(fault(R"({"x":{"dtype":32,"shape":[0],"data_offsets":[0,0]}})", 0).message,
            "m.safetensors (header): \"x.dtype\" is not a string");
  EXPECT_EQ(fault(R"({"x":{"dtype":"F32","shape":[0],"data_offsets":[0,0,0]}})", 0).message,
            "m.safetensors: tensor \"x\" has malformed data_offsets");
  EXPECT_EQ(fault(R"({"x":{"dtype":"F32","shape":[0],"data_offsets":[0,"0"]}})", 0).message,
            "m.safetensors (header): \"x.data_offsets[1]\" is not an integer");
  EXPECT_EQ(fault(R"({"__metadata__":[]})", 0).message,
            "m.safetensors: \"__metadata__\" is not an object");
  EXPECT_EQ(fault(R"({"__metadata__":{"a":1}})", 0).message,
            "m.safetensors: metadata \"a\" is not a string");
}

TEST(SafetensorsFaultTest, UnknownDType) {
  Error error = fault("{" + entry("x", "F8_E4M3", "[4]", 0, 4) + "}", 4);
  EXPECT_EQ(error.message, "m.safetensors: tensor \"x\" has a dtype that is not supported");
  EXPECT_EQ(error.found, "\"F8_E4M3\"");
  EXPECT_NE(error.expected.find("BF16"), std::string::npos);
}

TEST(SafetensorsFaultTest, BadShapes) {
  EXPECT_EQ(fault("{" + entry("x", "F32", "[-1]", 0, 4) + "}", 4).message,
            "m.safetensors (header): \"x.shape[0]\" is out of range");
  EXPECT_EQ(fault("{" + entry("x", "F32", "[1.5]", 0, 4) + "}", 4).message,
            "m.safetensors (header): \"x.shape[0]\" is not an integer");
  EXPECT_EQ(fault("{" + entry("x", "F32", "[4611686018427387904,4]", 0, 4) + "}", 4).message,
            "m.safetensors: tensor \"x\" is too large");
  // 2^62 elements of 4 bytes: the product wraps to 0 if unchecked.
  EXPECT_EQ(fault("{" + entry("x", "F32", "[4611686018427387904]", 0, 0) + "}", 0).message,
            "m.safetensors: tensor \"x\" is too large");
}

TEST(SafetensorsFaultTest, ReversedOffsets) {
  Error error = fault("{" + entry("x", "F32", "[1]", 4, 0) + "}", 4);
  EXPECT_EQ(error.message, "m.safetensors: tensor \"x\" has reversed data_offsets");
  EXPECT_EQ(error.found, "[4, 0)");
}

TEST(SafetensorsFaultTest, OffsetsOutOfRange) {
  Error error = fault("{" + entry("x", "F32", "[2]", 0, 8) + "}", 4);
  EXPECT_EQ(error.message, "m.safetensors: tensor \"x\" reaches beyond the end of the file");
  EXPECT_EQ(error.expected, "offsets within 4 bytes of data");
  EXPECT_EQ(fault(R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[-4,0]}})", 4).message,
            "m.safetensors (header): \"x.data_offsets[0]\" is out of range");
  EXPECT_EQ(fault(R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[0,18446744073709551615]}})", 4)
                .message,
            "m.safetensors (header): \"x.data_offsets[1]\" is not an integer");
}

TEST(SafetensorsFaultTest, ByteCountDoesNotFit) {
  Error error = fault("{" + entry("x", "BF16", "[2,3]", 0, 24) + "}", 24);
  EXPECT_EQ(error.message,
            "m.safetensors: tensor \"x\" has a byte count that does not match its dtype and shape");
  EXPECT_EQ(error.expected, "12 bytes for BF16 [2, 3]");
  EXPECT_EQ(error.found, "24 bytes, [0, 24)");
}

TEST(SafetensorsFaultTest, Overlap) {
  Error error =
      fault("{" + entry("a", "F32", "[2]", 0, 8) + "," + entry("b", "F32", "[2]", 4, 12) + "}", 12);
  EXPECT_EQ(error.message, "m.safetensors: tensor \"b\" overlaps tensor \"a\"");
  EXPECT_EQ(error.found, "[4, 12)");
  EXPECT_EQ(
      fault("{" + entry("a", "F32", "[2]", 0, 8) + "," + entry("b", "F32", "[2]", 0, 8) + "}", 8)
          .message,
      "m.safetensors: tensor \"b\" overlaps tensor \"a\"");
}

TEST(SafetensorsFaultTest, HolesAndLeftovers) {
  EXPECT_EQ(fault("{" + entry("a", "F32", "[1]", 4, 8) + "}", 8).message,
            "m.safetensors: tensor \"a\" leaves a gap before its data");
  EXPECT_EQ(
      fault("{" + entry("a", "F32", "[1]", 0, 4) + "," + entry("b", "F32", "[1]", 8, 12) + "}", 12)
          .message,
      "m.safetensors: tensor \"b\" leaves a gap before its data");
  EXPECT_EQ(fault("{" + entry("a", "F32", "[1]", 0, 4) + "}", 8).message,
            "m.safetensors: the file has bytes that belong to no tensor");
  EXPECT_EQ(fault("{}", 1).message, "m.safetensors: the file has bytes that belong to no tensor");
}

TEST(SafetensorsTest, MisalignedTensorsAreCopied) {
  // After an odd number of bytes of another tensor.
  std::string header =
      "{" + entry("a", "U8", "[3]", 0, 3) + "," + entry("b", "F32", "[1]", 3, 7) + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  auto file = parse_image(image_of(header, 7));
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(file->copied, std::vector<std::string>{"b"});
  EXPECT_EQ(file->tensors.at("b").shape(), Shape{1});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file->tensors.at("b").bytes().data()) % 4, 0u);
  // After a header of an odd length; an alignment of two bytes suffices for bf16.
  for (const auto& [dtype, copied] : {std::pair{"F32", size_t{1}}, std::pair{"BF16", size_t{0}}}) {
    std::string odd = "{" + entry("x", dtype, copied ? "[1]" : "[2]", 0, 4) + "}";
    odd.resize((odd.size() + 7) / 8 * 8 + 2, ' ');
    file = parse_image(image_of(odd, 4));
    ASSERT_TRUE(file) << file.error().to_string();
    EXPECT_EQ(file->copied.size(), copied) << dtype;
  }
}

TEST(SafetensorsTest, UnknownDtypesAreListedWhereAskedFor) {
  std::string header =
      "{" + entry("a", "F8_E4M3", "[3]", 0, 3) + "," + entry("b", "U8", "[1]", 3, 4) + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const auto image = image_of(header, 4);
  EXPECT_NE(parse_image(image).error().message.find("dtype that is not supported"),
            std::string::npos);
  const auto file = parse_safetensors(image, nullptr, "m", {.keep_unknown_dtypes = true});
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(file->unknown_dtypes, (std::map<std::string, std::string>{{"a", "F8_E4M3"}}));
  EXPECT_EQ(file->tensors.size(), 1u);
  // They still must lie within the file and leave no hole.
  header = "{" + entry("a", "F8_E4M3", "[3]", 0, 30) + "}";
  EXPECT_FALSE(parse_safetensors(image_of(header, 4), nullptr, "m", {.keep_unknown_dtypes = true}));
}

TEST(SafetensorsFaultTest, BooleansAreZeroOrOne) {
  std::string header = "{" + entry("x", "BOOL", "[2]", 0, 2) + "}";
  auto image = image_of(header, 2);
  EXPECT_TRUE(parse_image(image));
  image.back() = std::byte{2};
  EXPECT_EQ(parse_image(image).error().message,
            "m.safetensors: tensor \"x\" has a boolean that is neither 0 nor 1");
}

TEST(SafetensorsFaultTest, HostileNamesAreCutInMessages) {
  std::string name(100000, 'n');
  Error error = fault("{" + entry(name, "F32", "[1]", 4, 0) + "}", 4);
  EXPECT_LT(error.message.size(), 200u);
  EXPECT_LT(fault("{\"" + name + "\":1}", 0).message.size(), 200u);
}

TEST(SafetensorsFaultTest, RandomDamageNeverCrashes) {
  auto image = write_safetensors(
      {{"a", HostTensor::zeros(DType::kF32, {2, 3})}, {"b", HostTensor::zeros(DType::kBF16, {5})}},
      {{"k", "v"}});
  RandomStream random(17, "damage");
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    auto damaged = image;
    for (uint32_t i = random.below(3) + 1; i > 0; --i) {
      damaged[random.below(static_cast<uint32_t>(damaged.size()))] =
          static_cast<std::byte>(random.below(256));
    }
    auto file = parse_image(damaged);
    if (!file) {
      ++refused;
      ASSERT_EQ(file.error().kind, ErrorKind::kUser);
      continue;
    }
    for (const auto& [name, tensor] : file->tensors) content_hash(tensor);
  }
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace tapml
