// --quantize on the demo model, with every command that takes a model.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/program.h"
#include "support/quantized_models.h"

namespace tapml {
namespace {

using testing::kDemoModel;
using testing::output_of;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;

// A folder of `config` with the vocabulary and the tokenizer of the demo model.
void write_small_model(const TempFolder& folder, std::string config) {
  config.replace(config.find("67"), 2, "2048");
  testing::write_model(folder, config);
  std::filesystem::copy_file(kDemoModel + "/tokenizer.json", folder / "tokenizer.json");
}

// Several layouts in one model: an executable and a suite name each weight's.
TEST(Quantize, LayoutsOfWeightsByName) {
  TempFolder folder, out;
  write_small_model(folder, testing::kQuantizedLlama);
  const std::string file = out / "model.tapml", suite = out / "suite";
  const std::vector<std::string> layouts = {
      "--quantize", "q3f32m", "--quantize-map",
      "*embed_tokens*=q6f16,lm_head*=q8f32,*.k_proj.*=none,*.down_proj.*=q4f32"};
  const auto with = [&](std::vector<std::string> args, const std::vector<std::string>& more) {
    args.insert(args.end(), layouts.begin(), layouts.end());
    args.insert(args.end(), more.begin(), more.end());
    return args;
  };
  const std::vector<std::string> prompt = {"--prompt", "Emma was", "--max-tokens", "4"};
  const std::string text = output_of(with({"run", folder.path()}, prompt));
  output_of(with({"compile", folder.path()}, {"-o", file}));
  std::vector<std::string> again = {"run", file};
  again.insert(again.end(), prompt.begin(), prompt.end());
  EXPECT_EQ(output_of(again), text);
  std::vector<std::string> carving = prompt;
  carving.insert(carving.end(), {"--weights", "reference", "-o", suite});
  output_of(with({"carve", folder.path()}, carving));
  for (const char* target : {"cpu", "opencl"}) {
    output_of({"replay", suite, "--target", target});
  }
}

// The paper's model for phones: everything that it needs for 2,048 tokens, in 3 bits.
TEST(Quantize, SevenBillionParametersInFourGigabytes) {
  TempFolder folder;
  unwrap(write_text_atomic(folder / "config.json", R"({
    "architectures": ["LlamaForCausalLM"], "vocab_size": 32000, "hidden_size": 4096,
    "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 32, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5,
    "torch_dtype": "float16", "eos_token_id": 2})"));
  const Json report =
      run_program({"compile", "--config", folder / "config.json", "--quantize", "q3f16",
                   "--quantize-map", "*embed_tokens*=q3f16,lm_head*=q3f16", "--target", "vulkan",
                   "--memory", "b=1,n=2048,p=128,pages=128", "--json"})
          .json();
  int functions = 0;
  for (const Json& function : report.find("memory")->find("functions")->items()) {
    const std::string& name = function.find("name")->as_string();
    if (name != "prefill" && name != "decode") continue;
    ++functions;
    const int64_t bytes =
        function.find("argument_bytes")->as_integer() + function.find("peak_bytes")->as_integer();
    EXPECT_LT(bytes, int64_t{4} << 30) << name;
    EXPECT_GT(bytes, int64_t{3} << 30) << name << ": something was not counted";
  }
  EXPECT_EQ(functions, 2);
}

// Experts are weights in parts, which an executable must find again.
TEST(Quantize, ExecutableGivesTheTextOfTheModel) {
  TempFolder folder, moved, out;
  write_small_model(folder, testing::kQuantizedMoe);
  const std::string file = out / "model.tapml";
  const std::vector<std::string> prompt = {"--prompt", "Emma was", "--max-tokens", "8"};
  std::vector<std::string> run = {"run", folder.path(), "--quantize", "q4f16"};
  run.insert(run.end(), prompt.begin(), prompt.end());
  const std::string text = output_of(run);
  EXPECT_GT(text.size(), 8u);
  output_of({"compile", folder.path(), "--quantize", "q4f16", "-o", file});
  // In another folder the weights are hashed, and quantized in the same way.
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
    std::filesystem::copy_file(folder / name, moved / name);
  }
  for (const std::string& from : {folder.path(), moved.path()}) {
    std::vector<std::string> again = {"run", file, "--model", from};
    again.insert(again.end(), prompt.begin(), prompt.end());
    EXPECT_EQ(output_of(again), text) << from;
  }
  auto refuses = [&](std::vector<std::string> more, const std::string& part) {
    more.insert(more.begin(), {"run", file, "--prompt", "Emma was"});
    ProgramResult refused = run_program(more);
    EXPECT_EQ(refused.exit_code, 2) << refused.all();
    EXPECT_NE(refused.err.find(part), std::string::npos) << refused.err;
  };
  refuses({"--quantize", "q4f16"}, "--quantize goes with a model directory only");
  // One part of the experts' weight differs.
  auto tensors = testing::read_tensors(folder / "model.safetensors");
  HostTensor& part = tensors.at("model.layers.0.mlp.experts.3.up_proj.weight");
  part = testing::random_weight(8, {"other", part.shape(), {}}, part.dtype());
  unwrap(write_file_atomic(moved / "model.safetensors", write_safetensors(tensors)));
  refuses({"--model", moved.path()}, "mlp.experts.up_proj.weight is not the one");
}

TEST(Quantize, CarveReplayMigrateLocalizeProfile) {
  TempFolder folder, out;
  write_small_model(folder, testing::kQuantizedLlama);
  const std::string suite = out / "suite";
  auto with = [&](const char* command, std::vector<std::string> more) {
    more.insert(more.begin(), {command, folder.path(), "--quantize", "q4f32", "--prompt",
                               "Emma was", "--max-tokens", "2"});
    return output_of(more);
  };
  with("carve", {"--calls", "1", "-o", suite});
  const Json replayed = run_program({"replay", suite, "--target", "cpu", "--json"}).json();
  // The model has the suite's kernels if it is read with the options used for carving.
  const std::vector<std::string> verify = {"suite", "verify", suite, "--model", folder.path()};
  EXPECT_NE(run_program(verify).out.find("give --quantize"), std::string::npos);
  std::vector<std::string> quantizing = verify;
  quantizing.insert(quantizing.end(), {"--quantize", "q4f32"});
  output_of(quantizing);
  int quantized = 0;
  for (const Json& row : replayed.find("kernels")->items()) {
    const std::string& name = row.find("kernel")->as_string();
    EXPECT_TRUE(row.find("passed")->as_bool()) << name;
    EXPECT_FALSE(row.find("source_wrong")->as_bool()) << name;
    quantized += name.starts_with("dequantize_matmul") ? 1 : 0;
  }
  EXPECT_GE(quantized, 6);
  with("migrate", {"--from", "cpu", "--to", "opencl"});
  with("localize", {"--from", "cpu", "--to", "cpu"});
  EXPECT_NE(with("profile", {}).find("dequantize_matmul"), std::string::npos);
}

// The demo diverges at a token whose margin is within what levels near a tie decide.
TEST(Quantize, ActivationsMigrate) {
  const ProgramResult migrated = run_program(
      {"migrate", kDemoModel, "--from", "cpu", "--to", "opencl", "--prompt", "Emma was",
       "--quantize", "q4f32", "--quantize-activations", "int8", "--hybrid-every", "0", "--json"});
  ASSERT_EQ(migrated.exit_code, 0) << migrated.all();
  int quantized = 0;
  const Json result = migrated.json();
  for (const Json& row : result.find("kernels")->items()) {
    const std::string& name = row.find("kernel")->as_string();
    EXPECT_TRUE(row.find("passed")->as_bool()) << name;
    quantized += name.starts_with("quantize_") || name.starts_with("dequantize_dequantize_");
  }
  EXPECT_GE(quantized, 16);
}

TEST(Quantize, ActivationsOfFilesThatAreQuantized) {
  TempFolder folder;
  const std::string gguf = folder / "demo.gguf";
  output_of({"export", kDemoModel, "--gguf", gguf, "--type", "Q8_0"});
  const std::vector<std::string> run = {
      "run", gguf, "--prompt", "Emma was", "--max-tokens", "12", "--quantize-activations"};
  const auto text = [&](const char* format) {
    std::vector<std::string> all = run;
    all.emplace_back(format);
    return output_of(all);
  };
  EXPECT_EQ(text("int8"), text("none"));
  const std::string kernels =
      output_of({"compile", gguf, "--quantize-activations", "int8", "--target", "cpu"});
  EXPECT_NE(kernels.find("schedule:cpu_integer"), std::string::npos) << kernels;
  EXPECT_EQ(kernels.find("schedule:cpu_quantized"), std::string::npos) << kernels;
}

// The model is quantized again when the suite is read, and gives the same bytes.
TEST(Quantize, WeightsByReference) {
  TempFolder folder;
  int64_t inside = 0;
  for (const std::string weights : {"inside", "reference"}) {
    const std::string suite = folder / weights;
    ProgramResult carved =
        run_program({"carve", kDemoModel, "--quantize", "q4f16", "--prompt", "Emma was",
                     "--max-tokens", "2", "--as-run", "--weights", weights, "-o", suite, "--json"});
    ASSERT_EQ(carved.exit_code, 0) << carved.all();
    const int64_t bytes = carved.json().find("bytes")->as_integer();
    if (weights == "inside") {
      inside = bytes;
      continue;
    }
    EXPECT_LT(bytes, inside / 2);
    EXPECT_GT(carved.json().find("weights")->as_integer(), 10);
    Json listed = run_program({"suite", "ls", suite, "--json"}).json();
    EXPECT_EQ(listed.find("quantization")->as_string(), "q4f16");
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"suite", "verify", suite},
          {"suite", "verify", suite, "--model", kDemoModel},
          {"replay", suite, "--target", "cpu"}}) {
      ProgramResult read = run_program(command);
      EXPECT_EQ(read.exit_code, 0) << read.all();
    }
    // Without quantization it has other weights.
    std::string text = unwrap(read_text_file(suite + "/suite.json"));
    auto with = [&](const std::string& quantization) {
      std::string other = text;
      other.replace(other.find("q4f16"), 5, quantization);
      unwrap(write_text_atomic(suite + "/suite.json", other));
      ProgramResult read = run_program({"replay", suite, "--target", "cpu"});
      EXPECT_EQ(read.exit_code, 2) << read.all();
      return read.err;
    };
    EXPECT_NE(with("").find("or carve the suite again"), std::string::npos);
    const std::string unknown = with("q3");
    EXPECT_NE(unknown.find("unknown quantization"), std::string::npos) << unknown;
    EXPECT_NE(unknown.find("q4f32, q4f16 or q3f16g64m"), std::string::npos) << unknown;
  }
}

TEST(Quantize, BadInput) {
  auto refuses = [](const std::vector<std::string>& args, const std::string& part) {
    ProgramResult result = run_program(args);
    EXPECT_EQ(result.exit_code, 2) << result.all();
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  };
  refuses({"compile", kDemoModel, "--quantize", "q3"}, "q4f32, q4f16 or q3f16g64m");
  refuses({"compile", kDemoModel, "--quantize", "q4f32", "--quantize-map", "head=q4f32"},
          "the pattern \"head\" matches no weight");
  refuses({"compile", kDemoModel, "--quantize", "q4f32", "--quantize-map", "q8f32"},
          "two layouts without a pattern");
  refuses({"compile", kDemoModel, "--quantize", "q4f32", "--quantize-activations", "int4"},
          "int8, none or auto");
  refuses({"compile", kDemoModel, "--quantize-activations", "int8"}, "add --quantize q4f32");
  TempFolder folder;
  std::string config = testing::kQuantizedLlama;
  config.replace(config.find("96"), 2, "80");
  unwrap(write_text_atomic(folder / "config.json", config));
  refuses({"compile", "--config", folder / "config.json", "--quantize", "q4f32"},
          "a multiple of 32");
  config.insert(config.size() - 1,
                ", \"quantization_config\": {\"quant_method\": \"gptq\", \"bits\": 4}");
  unwrap(write_text_atomic(folder / "config.json", config));
  refuses({"compile", "--config", folder / "config.json", "--quantize", "q4f32"},
          "does not say how their weights are stored");
  unwrap(write_text_atomic(folder / "module.txt",
                           "module\ndef f(x: Tensor((4,), f32)) -> Object { return x }\n"));
  refuses({"compile", folder / "module.txt", "--quantize", "q4f32"}, "operator dequantize");
  refuses({"compile", folder / "module.txt", "--quantize-activations", "int8"},
          "--quantize-activations go with a model directory or a configuration only");
}

}  // namespace
}  // namespace tapml
