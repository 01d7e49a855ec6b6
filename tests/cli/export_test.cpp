// tapml export, and what it writes through the program's own reader.
#include <gtest/gtest.h>

#include <filesystem>

#include "app/model.h"
#include "app/random_model.h"
#include "frontend/gguf/model.h"
#include "io/gguf.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "support/golden_path.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::expect_failure;
using testing::kDemoModel;
using testing::output_of;
using testing::run_program;
using testing::TempFolder;

std::string demo_text(const std::string& model) {
  return output_of({"run", model, "--prompt", "Emma was", "--max-tokens", "12"});
}

TEST(Export, AFileOfTheStoredDtypeRunsAsTheFolder) {
  TempFolder folder;
  const std::string path = folder / "demo.gguf";
  const auto result = run_program({"export", kDemoModel, "--gguf", path, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const Json json = result.json();
  EXPECT_EQ(json.find("type")->as_string(), "BF16");
  EXPECT_EQ(json.find("architecture")->as_string(), "llama");
  EXPECT_EQ(json.find("tensors")->find("F32")->as_integer(), 13);
  EXPECT_EQ(json.find("tensors")->find("BF16")->as_integer(), 44);
  EXPECT_EQ(json.find("bytes")->as_integer(),
            static_cast<int64_t>(std::filesystem::file_size(path)));
  EXPECT_EQ(demo_text(path), demo_text(kDemoModel));
}

// The weights are bit for bit those of the folder, and so are the tokens and what ends a text.
TEST(Export, F32KeepsWeightsTokensAndEnds) {
  TempFolder folder;
  const std::string path = folder / "demo.gguf";
  output_of({"export", kDemoModel, "--gguf", path, "--type", "f32"});
  const app::LoadedModel from = app::load_model(kDemoModel), to = app::load_model(path);
  ASSERT_EQ(from.files.weights.size(), to.files.weights.size());
  for (const auto& [name, weight] : from.files.weights) {
    const HostTensor& own = to.files.weights.at(name);
    ASSERT_EQ(own.shape(), weight.shape()) << name;
    int64_t different = 0;
    for (int64_t i = 0; i < own.size(); ++i) different += own.at_f64(i) != weight.at_f64(i);
    EXPECT_EQ(different, 0) << name;
  }
  EXPECT_EQ(from.files.eos, to.files.eos);
  EXPECT_EQ(from.tokenizer.vocab_size(), to.tokenizer.vocab_size());
  for (const char* text : {"Emma was", "It's 2026,\n na\u00efve", "<|end_of_text|> x"}) {
    EXPECT_EQ(unwrap(from.tokenizer.encode(text)), unwrap(to.tokenizer.encode(text)));
  }
}

// Rows of 192 and 512: the former are no whole blocks of 256.
TEST(Export, QuantizedFilesRun) {
  TempFolder folder;
  const std::string path = folder / "demo.gguf", again = folder / "again.gguf";
  const std::string text = output_of({"export", kDemoModel, "--gguf", path, "--type", "Q4_K_M"});
  EXPECT_NE(text.find("57 tensors: F32 13, Q4_K 4, Q5_0 35, Q6_K 2, Q8_0 3"), std::string::npos)
      << text;
  EXPECT_NE(text.find("38 tensors of another type"), std::string::npos) << text;
  EXPECT_GT(demo_text(path).size(), 10u);
  output_of({"export", path, "--gguf", again, "--type", "Q4_0"});
  EXPECT_LT(std::filesystem::file_size(again), std::filesystem::file_size(path));
  EXPECT_GT(demo_text(again).size(), 10u);
}

// A vocabulary of SentencePiece: merges become scores, which become the same merges.
TEST(Export, ScoredVocabulary) {
  TempFolder folder;
  const std::string model = folder / "model", path = folder / "model.gguf";
  unwrap(make_folder(model));
  const std::string config = folder / "own.json";
  unwrap(write_text_atomic(config, R"({"architectures": ["Qwen3ForCausalLM"],
      "model_type": "qwen3", "hidden_size": 64, "head_dim": 16, "intermediate_size": 96,
      "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2,
      "vocab_size": 608, "max_position_embeddings": 64, "tie_word_embeddings": true})"));
  app::write_random_model(config, 3, model);
  const frontend::GgufTokenizer texts =
      frontend::open_gguf_tokenizer(testing::golden_path("gguf/scored.gguf"));
  unwrap(write_text_atomic(model + "/tokenizer.json", texts.tokenizer));
  unwrap(write_text_atomic(model + "/tokenizer_config.json", texts.config));
  output_of({"export", model, "--gguf", path, "--type", "Q8_0"});
  const Tokenizer from = app::load_tokenizer(model), to = app::load_tokenizer(path);
  const std::string docs = unwrap(read_text_file(std::string(TAPML_SOURCE_DIR) + "/docs/gguf.md"));
  EXPECT_EQ(unwrap(from.encode(docs)), unwrap(to.encode(docs)));
  const MappedFile file = unwrap(map_file(path));
  const GgufFile gguf = unwrap(parse_gguf(file.bytes, file.owner, path));
  EXPECT_EQ(std::get<std::string_view>(*gguf.find("tokenizer.ggml.model")), "llama");
  const auto& tokens = std::get<std::vector<std::string_view>>(*gguf.find("tokenizer.ggml.tokens"));
  EXPECT_EQ(tokens.size(), 608u);
  EXPECT_EQ(tokens.back(), "[PAD607]");
}

TEST(Export, BadInput) {
  TempFolder folder;
  const std::string path = folder / "demo.gguf";
  expect_failure({"export", kDemoModel, "--gguf", path, "--type", "Q9"}, 2,
                 {"--type", "\"Q9\"", "Q4_K_M", "Q8_0"});
  expect_failure({"export", folder.path(), "--gguf", path}, 2, {folder.path()});
  expect_failure({"export", folder / "none", "--gguf", path}, 2, {"none"});
  expect_failure({"export", kDemoModel, "--gguf", folder / "no/demo.gguf"}, 2,
                 {"its folder does not exist"});
  expect_failure({"export", kDemoModel, "--gguf", folder.path()}, 2, {"it is a folder"});
  expect_failure({"export", kDemoModel}, 2, {"--gguf"});
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  const std::string golden = testing::golden_path("gguf/llama/model.gguf");
  expect_failure({"export", golden, "--gguf", path}, 2, {"--type"});
  output_of({"export", golden, "--gguf", path, "--type", "Q8_0"});
  expect_failure({"export", path, "--gguf", path, "--type", "F16"}, 2, {"replace the one"});
}

}  // namespace
}  // namespace tapml
