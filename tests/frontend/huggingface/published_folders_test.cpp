// Common forms of model folders that transformers also reads, and other files in their place.
#include <chrono>

#include "frontend/huggingface/folder.h"
#include "ir/exceptions.h"
#include "model_folder.h"

namespace tapml::frontend {
namespace {

class PublishedFolder : public HuggingFaceFolder {
 protected:
  void one_warning(const HuggingFaceModel& model, const std::vector<std::string>& parts) {
    ASSERT_EQ(model.warnings.size(), 1u);
    for (const std::string& part : parts) {
      EXPECT_NE(model.warnings[0].find(part), std::string::npos) << model.warnings[0];
    }
  }
};

TEST_F(PublishedFolder, NamesWithoutThePrefix) {
  Tensors bare;
  for (const auto& [name, tensor] : tensors_) {
    bare[name.starts_with("model.") ? name.substr(6) : name] = tensor;
  }
  write_tensors("model.safetensors", bare);
  HuggingFaceModel model = read();
  expect_same(model.weights, tensors_);
  EXPECT_TRUE(model.warnings.empty());
  // The class for files without the head, which must then be tied.
  bare.erase("lm_head.weight");
  write_tensors("model.safetensors", bare);
  std::string config = kConfig;
  config.replace(config.find("LlamaForCausalLM"), 16, "LlamaModel");
  write("config.json", config);
  refuses({"weights are missing", "lm_head.weight"});
  tie();
  tensors_.erase("lm_head.weight");
  expect_same(read().weights, tensors_);
}

TEST_F(PublishedFolder, ShardsWithoutAnIndex) {
  write_tensors("model-00001-of-00001.safetensors", tensors_);
  expect_same(read().weights, tensors_);
  fs::remove(path("model-00001-of-00001.safetensors"));
  write_shards();
  fs::remove(path("model.safetensors.index.json"));
  fs::rename(path("a.safetensors"), path("model-00001-of-00002.safetensors"));
  refuses({"weight file is missing", "model-00002-of-00002.safetensors"});
  fs::rename(path("b.safetensors"), path("model-00002-of-00002.safetensors"));
  expect_same(read().weights, tensors_);
}

// The image of `tensors` with a header that is `extra` bytes longer.
std::string shifted_image(const Tensors& tensors, size_t extra) {
  const std::vector<std::byte> image = write_safetensors(tensors);
  const std::string text(reinterpret_cast<const char*>(image.data()), image.size());
  uint64_t header = 0;
  std::memcpy(&header, text.data(), sizeof(header));
  const uint64_t longer = header + extra;
  std::string out(8, '\0');
  std::memcpy(out.data(), &longer, sizeof(longer));
  return out + text.substr(8, header) + std::string(extra, ' ') + text.substr(8 + header);
}

TEST_F(PublishedFolder, UnalignedTensorsAreCopied) {
  write("model.safetensors", shifted_image(tensors_, 3));
  HuggingFaceModel model = read();
  expect_same(model.weights, tensors_);
  one_warning(model, {"12 of 12 tensors are not aligned", "copied"});
}

TEST_F(PublishedFolder, UnusedTensorsOfUnknownDtypesAreIgnored) {
  tensors_["scale"] = HostTensor::zeros(DType::kU8, {4});
  const std::vector<std::byte> image = write_safetensors(tensors_);
  std::string text(reinterpret_cast<const char*>(image.data()), image.size());
  tensors_.erase("scale");
  const size_t at = text.find("\"U8\"");
  text.replace(at, 4, "\"F4\"");
  write("model.safetensors", text);
  HuggingFaceModel model = read();
  expect_same(model.weights, tensors_);
  one_warning(model, {"ignored", "scale of F4"});

  // A tensor that the model uses is refused.
  Tensors wrong = tensors_;
  wrong["model.norm.weight"] = HostTensor::zeros(DType::kU8, {8});
  const std::vector<std::byte> other = write_safetensors(wrong);
  text.assign(reinterpret_cast<const char*>(other.data()), other.size());
  text.replace(text.find("\"U8\""), 4, "\"F8\"");
  write("model.safetensors", text);
  refuses({"model.norm.weight", "dtype that is not supported", "f32, f16 or bf16", "F8"});
}

TEST_F(PublishedFolder, RootOfACacheEntry) {
  write_all();
  const fs::path root = folder_.string() + "_cache";
  fs::remove_all(root);
  for (const char* name : {"old", "new", "newest"}) {
    fs::create_directories(root / "snapshots" / name);
    fs::copy(folder_ / "config.json", root / "snapshots" / name / "config.json");
    fs::create_symlink(folder_ / "model.safetensors",
                       root / "snapshots" / name / "model.safetensors");
  }
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(root / "snapshots" / "newest", now + std::chrono::hours(1));
  EXPECT_EQ(resolve_model_folder(root.string()), (root / "snapshots" / "newest").string());
  fs::create_directories(root / "refs");
  ASSERT_TRUE(write_text_atomic((root / "refs" / "main").string(), "new\n"));
  EXPECT_EQ(resolve_model_folder(root.string()), (root / "snapshots" / "new").string());
  HuggingFaceModel model = read_model(root.string());
  EXPECT_EQ(model.folder, (root / "snapshots" / "new").string());
  expect_same(model.weights, tensors_);
  for (const char* hostile : {"../../etc", "gone", "", ".."}) {
    ASSERT_TRUE(write_text_atomic((root / "refs" / "main").string(), hostile));
    EXPECT_EQ(resolve_model_folder(root.string()), (root / "snapshots" / "newest").string());
  }
  EXPECT_EQ(resolve_model_folder(folder_.string()), folder_.string());
  fs::remove_all(root);
}

TEST_F(PublishedFolder, AbsentFieldsAreNamedWhereShapesDoNotFit) {
  write_all();
  std::string config = kConfig;
  config.replace(config.find("\"hidden_size\": 8,"), 17, "");
  write("config.json", config);
  refuses({"another shape", "published defaults", "hidden_size (4096)"});
}

TEST_F(PublishedFolder, FilesOfOtherFormats) {
  write_all();
  const std::string lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n";
  for (const char* name : {"model.safetensors", "config.json"}) {
    const std::string saved = *read_text_file(path(name));
    write(name, lfs);
    refuses({name, "Git LFS pointer", "git lfs pull"});
    write(name, "\n<!DOCTYPE html><html></html>");
    refuses({name, "HTML page", "hf download"});
    write(name, "GGUF\x03");
    refuses({name, "GGUF", "pass the GGUF file itself"});
    write(name, std::string("PK\x03\x04", 4));
    refuses({name, "pickle", "save_pretrained"});
    write(name, saved);
  }
  write("model.bin", std::string("\x80\x02}q", 4));
  expect_user_error([&] { read_model(path("model.bin")); }, {"pickle", "save_pretrained"});
  expect_user_error([&] { read_model(path("model.safetensors")); },
                    {"is not a folder", "the folder that contains it"});
}

TEST_F(PublishedFolder, OtherFormatsOfWeights) {
  write("pytorch_model.bin", "x");
  refuses({"no weights", "pytorch_model.bin", "save_pretrained"});
  write("model.Q4_K_M.gguf", "GGUF");
  refuses({"no weights", "model.Q4_K_M.gguf", "pass the GGUF file itself"});
  fs::remove(path("config.json"));
  refuses({"GGUF", "pass the file as the model", "/model.Q4_K_M.gguf"});
}

TEST_F(PublishedFolder, Adapters) {
  fs::remove(path("config.json"));
  write("adapter_config.json", R"({"base_model_name_or_path": "org/base"})");
  refuses({"LoRA adapter", "org/base", "merge_and_unload"});
  write("adapter_config.json", "{");
  refuses({"LoRA adapter", "its base model"});
}

TEST_F(PublishedFolder, NamesOfTheHub) {
  expect_user_error([] { read_model("org/some-model_1.5"); },
                    {"does not exist", "hub", "hf download org/some-model_1.5 --local-dir DIR"});
  for (const char* path : {"/org/name", "./org/name", "a/b/c", "name"}) {
    const auto model = guard([&] { return read_model(path); });
    ASSERT_FALSE(model) << path;
    EXPECT_EQ(model.error().to_string().find("hub"), std::string::npos) << path;
  }
}

TEST_F(PublishedFolder, Tokenizers) {
  write("tokenizer.json", "{}");
  EXPECT_EQ(tokenizer_path(folder_.string()), path("tokenizer.json"));
  write("tokenizer.json", "version https://git-lfs.github.com/spec/v1\n");
  expect_user_error([&] { tokenizer_path(folder_.string()); }, {"tokenizer.json", "Git LFS"});
  fs::remove(path("tokenizer.json"));
  expect_user_error([&] { tokenizer_path(folder_.string()); }, {"no tokenizer.json"});
  write("vocab.txt", "x");
  expect_user_error([&] { tokenizer_path(folder_.string()); },
                    {"no tokenizer.json", "vocab.txt", "AutoTokenizer"});
}

}  // namespace
}  // namespace tapml::frontend
