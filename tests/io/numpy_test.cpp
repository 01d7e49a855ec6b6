// NumPy arrays: valid and invalid files.
#include "io/numpy.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/expect_error.h"

namespace tapml {
namespace {

std::span<const std::byte> view_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// A .npy file of version 1 as NumPy writes it.
std::string npy(const std::string& header, const std::string& data) {
  std::string text = header;
  text.append(63 - (10 + text.size()) % 64, ' ');
  text += '\n';
  std::string file = "\x93NUMPY";
  file +=
      {'\x01', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return file + text + data;
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  std::string text(values.size() * sizeof(T), '\0');
  std::memcpy(text.data(), std::data(values), text.size());
  return text;
}

std::string header(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }";
}

TEST(Npy, ReadsEveryTypeThatTensorsHave) {
  const std::map<std::string, std::pair<DType, size_t>> types = {
      {"|b1", {DType::kBool, 1}}, {"|i1", {DType::kI8, 1}},  {"<i2", {DType::kI16, 2}},
      {"<i4", {DType::kI32, 4}},  {"<i8", {DType::kI64, 8}}, {"|u1", {DType::kU8, 1}},
      {"<u2", {DType::kU16, 2}},  {"<u4", {DType::kU32, 4}}, {"<u8", {DType::kU64, 8}},
      {"<f2", {DType::kF16, 2}},  {"<f4", {DType::kF32, 4}}, {"<f8", {DType::kF64, 8}}};
  for (const auto& [name, type] : types) {
    const std::string data(type.second * 6, '\1');
    const auto read = parse_npy(view_of(npy(header(name, "(2, 3)"), data)), "x.npy");
    ASSERT_TRUE(read) << name << read.error().to_string();
    EXPECT_EQ(read->dtype(), type.first);
    EXPECT_EQ(read->shape(), (Shape{2, 3}));
    EXPECT_TRUE(std::ranges::equal(read->bytes(), view_of(data)));
  }
  const auto scalar = parse_npy(view_of(npy(header("<f4", "()"), raw({2.5f}))), "x.npy");
  ASSERT_TRUE(scalar);
  EXPECT_TRUE(scalar->shape().empty());
  EXPECT_EQ(scalar->at_f64(0), 2.5);
  EXPECT_EQ(parse_npy(view_of(npy(header("<f4", "(0, 4)"), "")), "x.npy")->size(), 0);
}

TEST(Npy, FortranOrderBecomesRowMajor) {
  const auto read = parse_npy(
      view_of(npy(header("<i2", "(2, 3)", true), raw<int16_t>({1, 4, 2, 5, 3, 6}))), "x.npy");
  ASSERT_TRUE(read) << read.error().to_string();
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(read->at_f64(i), static_cast<double>(i + 1));
}

TEST(Npy, RefusesInvalidFiles) {
  const std::string right = npy(header("<f4", "(2,)"), raw({1.f, 2.f}));
  EXPECT_TRUE(parse_npy(view_of(right), "x.npy"));
  for (size_t size = 0; size < right.size(); ++size) {
    const auto read = parse_npy(view_of(right.substr(0, size)), "x.npy");
    ASSERT_FALSE(read) << size;
    testing::expect_parts(read.error(), {"x.npy"});
  }
  for (const auto& [file, parts] : std::map<std::string, std::vector<std::string>>{
           {npy(header(">f4", "(2,)"), raw({1.f, 2.f})), {"type", ">f4"}},
           {npy(header("<c8", "(1,)"), raw({1.f, 2.f})), {"type", "<c8"}},
           {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
                raw({1.f, 2.f})),
            {"type"}},
           {npy(header("<f4", "(-2,)"), raw({1.f, 2.f})), {"header"}},
           {npy(header("<f4", "(99999999999, 99999999999)"), ""), {}},
           {npy(header("<f4", "(3,)"), raw({1.f, 2.f})), {"does not match", "12 bytes", "8"}}}) {
    const auto read = parse_npy(view_of(file), "x.npy");
    ASSERT_FALSE(read);
    testing::expect_parts(read.error(), parts);
  }
}

// numpy.savez: entries in sequence, then their directory.
std::string zip(const std::string& name, const std::string& data, int method = 0) {
  auto number = [](uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += i < 8 ? static_cast<char>(value >> (8 * i)) : char(0);
    return text;
  };
  auto entry = [&](bool central) {
    return number(central ? 0x02014b50 : 0x04034b50, 4) + (central ? number(20, 2) : "") +
           number(20, 2) + number(0, 2) + number(static_cast<uint64_t>(method), 2) + number(0, 4) +
           number(0, 4) + number(data.size(), 4) + number(data.size(), 4) + number(name.size(), 2) +
           number(0, 2) + (central ? number(0, 10) + number(0, 4) : "") + name;
  };
  const std::string body = entry(false) + data, directory = entry(true);
  return body + directory + number(0x06054b50, 4) + number(0, 4) + number(1, 2) + number(1, 2) +
         number(directory.size(), 4) + number(body.size(), 4) + number(0, 2);
}

TEST(Npz, ReadsArraysByName) {
  const std::string file = zip("weights.npy", npy(header("<f4", "(2,)"), raw({1.f, -2.f})));
  const auto read = parse_npz(view_of(file), "x.npz");
  ASSERT_TRUE(read) << read.error().to_string();
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(read->at("weights").at_f64(1), -2);
}

TEST(Npz, RefusesInvalidFiles) {
  const std::string array = npy(header("<f4", "(2,)"), raw({1.f, -2.f}));
  const std::string right = zip("a.npy", array);
  const auto compressed = parse_npz(view_of(zip("a.npy", array, 8)), "x.npz");
  ASSERT_FALSE(compressed);
  testing::expect_parts(compressed.error(), {"compressed", "x.npz:a.npy", "numpy.savez"});
  EXPECT_FALSE(parse_npz(view_of(zip("a.npy", "no array")), "x.npz"));
  // Any truncated or changed file is refused or read, and never read beyond its end.
  for (size_t size = 0; size < right.size(); ++size) {
    EXPECT_FALSE(parse_npz(view_of(right.substr(0, size)), "x.npz")) << size;
    std::string changed = right;
    changed[size] = static_cast<char>(changed[size] ^ 0x7f);
    const auto read = parse_npz(view_of(changed), "x.npz");
    if (!read) {
      EXPECT_FALSE(read.error().message.empty()) << size;
    }
  }
}

}  // namespace
}  // namespace tapml
