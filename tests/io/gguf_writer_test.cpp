#include "io/gguf_writer.h"

#include <gtest/gtest.h>

#include "io/gguf_quantize.h"
#include "ir/exceptions.h"

namespace tapml {
namespace {

const GgufType& type_at(size_t index) { return gguf_types()[index]; }

// The reader gives back what was written.
TEST(GgufWriter, IsReadBack) {
  GgufMetadata metadata;
  metadata.add_text("general.architecture", "llama");
  metadata.add("integer", int64_t{4'000'000'000});
  metadata.add("negative", int64_t{-5});
  metadata.add("number", 0.5);
  metadata.add("flag", true);
  metadata.add("integers", std::vector<int64_t>{1, -2});
  metadata.add("numbers", std::vector<double>{0.25, -1});
  metadata.add("flags", std::vector<bool>{true, false, true});
  metadata.add_texts("texts", {"", "x", "\u2581y"});
  metadata.add_texts("none", {});
  const std::vector<GgufTensorInfo> infos = {
      {"a", &type_at(0), {3}}, {"b", &type_at(2), {2, 64}}, {"c", &type_at(1), {2, 1, 4}}};
  std::vector<std::byte> image = write_gguf_header(metadata, infos);
  EXPECT_EQ(image.size() % 32, 0u);
  std::vector<std::vector<std::byte>> data;
  for (const GgufTensorInfo& info : infos) {
    std::vector<float> values(static_cast<size_t>(element_count(info.shape)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 8;
    std::vector<std::byte>& bytes = data.emplace_back(gguf_bytes(*info.type, info.shape));
    quantize_gguf(*info.type, values, bytes.data());
    image.insert(image.end(), bytes.begin(), bytes.end());
    image.resize(image.size() + gguf_padded_bytes(bytes.size()) - bytes.size());
  }
  const GgufFile file = unwrap(parse_gguf(image, nullptr, "m.gguf"));
  EXPECT_EQ(file.version, 3);
  ASSERT_EQ(file.metadata.size(), metadata.values().size());
  for (size_t i = 0; i < file.metadata.size(); ++i) {
    EXPECT_EQ(file.metadata[i].first, metadata.values()[i].first);
    EXPECT_TRUE(file.metadata[i].second == metadata.values()[i].second) << file.metadata[i].first;
  }
  ASSERT_EQ(file.tensors.size(), infos.size());
  for (size_t i = 0; i < infos.size(); ++i) {
    EXPECT_EQ(file.tensors[i].name, infos[i].name);
    EXPECT_EQ(file.tensors[i].type, infos[i].type);
    EXPECT_EQ(file.tensors[i].shape, infos[i].shape);
    EXPECT_TRUE(std::ranges::equal(file.tensors[i].bytes, data[i]));
  }
}

// Texts are where they were after the metadata moves.
TEST(GgufWriter, MetadataMoves) {
  GgufMetadata metadata;
  metadata.add_text("k", "short");
  const GgufMetadata moved = std::move(metadata);
  EXPECT_EQ(std::get<std::string_view>(moved.values()[0].second), "short");
}

}  // namespace
}  // namespace tapml
