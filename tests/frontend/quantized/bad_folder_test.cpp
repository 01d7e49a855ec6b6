// Quantized folders whose configuration or tensors are wrong: each is refused with the tensor or
// the field, what was expected and what was found.
#include <gtest/gtest.h>

#include <filesystem>

#include "frontend/huggingface/model.h"
#include "io/host/files.h"
#include "io/safetensors.h"
#include "support/expect_error.h"
#include "support/golden_path.h"
#include "support/temp_folder.h"

namespace tapml::frontend {
namespace {

using Tensors = std::map<std::string, HostTensor>;

// A golden folder in memory, which tests change before they read it.
class Folder {
 public:
  explicit Folder(const std::string& name) {
    const std::string from = testing::golden_path("quantized/" + name);
    config = unwrap(read_text_file(from + "/config.json"));
    MappedFile file = unwrap(map_file(from + "/model.safetensors"));
    SafetensorsFile read =
        unwrap(parse_safetensors(file.bytes, file.owner, name, {.keep_unknown_dtypes = true}));
    tensors = std::move(read.tensors);
  }

  void replace(const std::string& from, const std::string& to) {
    const size_t at = config.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    config.replace(at, from.size(), to);
  }
  // A changed copy of a tensor.
  void change(const std::string& name, const std::function<void(HostTensor&)>& edit) {
    const HostTensor& old = tensors.at(name);
    HostTensor copy = HostTensor::zeros(old.dtype(), old.shape());
    std::ranges::copy(old.bytes(), copy.mutable_bytes().begin());
    edit(copy);
    tensors[name] = std::move(copy);
  }
  void refuses(const std::vector<std::string>& parts) const {
    unwrap(write_text_atomic(folder_ / "config.json", config));
    unwrap(write_file_atomic(folder_ / "model.safetensors", write_safetensors(tensors)));
    testing::expect_user_error([&] { read_model(folder_.path()); }, parts);
  }

  std::string config;
  Tensors tensors;

 private:
  testing::TempFolder folder_;
};

const std::string kLayer = "model.layers.0.self_attn.k_proj";

TEST(BadQuantizedFolder, Configuration) {
  const auto refuses = [](const std::string& name, const std::string& from, const std::string& to,
                          const std::vector<std::string>& parts) {
    SCOPED_TRACE(to);
    Folder folder(name);
    folder.replace(from, to);
    folder.refuses(parts);
  };
  refuses("gptq4", "\"gptq\"", "\"quip\"", {"quant_method", "gptq", "compressed-tensors", "GGUF"});
  refuses("gptq4", "\"quant_method\": \"gptq\"", "\"quant_method\": 4", {"quant_method"});
  refuses("gptq4", "\"bits\": 4", "\"bits\": 5", {"bits", "2, 3, 4 or 8", "5"});
  refuses("gptq4", "\"bits\": 4", "\"bits\": -4", {"bits"});
  refuses("gptq4", "\"group_size\": 32", "\"group_size\": -7", {"group_size"});
  refuses("gptq4", "\"sym\": true", "\"checkpoint_format\": \"marlin\"", {"checkpoint_format"});
  refuses("gptq4", "\"sym\": true", "\"dynamic\": {\"+:.*down.*\": {\"bits\": 8}}", {"dynamic"});
  refuses("awq", "\"gemm\"", "\"gemv\"", {"version", "gemm"});
  refuses("awq", "\"bits\": 4", "\"bits\": 3", {"bits", "4"});
  refuses("ct_int4", "\"pack-quantized\"", "\"marlin-24\"", {"format", "pack-quantized"});
  refuses("ct_int4", "\"num_bits\": 4", "\"num_bits\": 9", {"num_bits"});
  refuses("ct_int4", "\"compressed\"", "\"frozen\"", {"quantization_status"});
}

TEST(BadQuantizedFolder, TensorsOfGptq) {
  const auto refuses = [](const std::function<void(Folder&)>& edit,
                          const std::vector<std::string>& parts) {
    Folder folder("gptq4_act_order");
    edit(folder);
    folder.refuses(parts);
  };
  for (const char* missing : {".scales", ".qzeros"}) {
    refuses([&](Folder& f) { f.tensors.erase(kLayer + missing); }, {kLayer + missing, "missing"});
  }
  refuses(
      [](Folder& f) { f.tensors[kLayer + ".scales"] = HostTensor::zeros(DType::kF16, {3, 32}); },
      {kLayer + ".scales", "another shape", "[2, 32]", "[3, 32]"});
  refuses([](Folder& f) { f.tensors[kLayer + ".qzeros"] = HostTensor::zeros(DType::kI32, {2, 5}); },
          {kLayer + ".qzeros", "[2, 4]", "[2, 5]"});
  refuses([](Folder& f) { f.tensors[kLayer + ".qweight"] = HostTensor::zeros(DType::kI32, {8}); },
          {kLayer + ".qweight", "[8]"});
  refuses(
      [](Folder& f) { f.tensors[kLayer + ".qweight"] = HostTensor::zeros(DType::kI32, {0, 32}); },
      {kLayer + ".qweight"});
  refuses(
      [](Folder& f) { f.tensors[kLayer + ".qweight"] = HostTensor::zeros(DType::kF32, {8, 32}); },
      {kLayer + ".qweight", "I32", "F32"});
  refuses([](Folder& f) { f.replace("\"bits\": 4", "\"bits\": 8"); }, {".q"});
  // Of a whole layer, but not the configuration's.
  refuses([](Folder& f) { f.replace("\"num_key_value_heads\": 2", "\"num_key_value_heads\": 4"); },
          {"k_proj.weight", "[64, 64]", "[32, 64]"});
  const auto with_index = [&](int32_t value, const std::vector<std::string>& parts) {
    refuses(
        [&](Folder& f) {
          f.change(kLayer + ".g_idx",
                   [&](HostTensor& index) { index.mutable_values<int32_t>()[5] = value; });
        },
        parts);
  };
  with_index(2, {kLayer + ".g_idx", "0 to 1", "2 for input 5"});
  with_index(-1, {kLayer + ".g_idx", "-1 for input 5"});
  refuses(
      [](Folder& f) {
        f.change(kLayer + ".g_idx",
                 [](HostTensor& index) { std::ranges::fill(index.mutable_values<int32_t>(), 0); });
      },
      {kLayer + ".g_idx", "different sizes", "32 inputs"});
  refuses(
      [](Folder& f) {
        f.change(kLayer + ".scales", [](HostTensor& scales) { scales.set_f64(3, INFINITY); });
      },
      {kLayer + ".weight", "scale", "not finite", "row 3"});
}

TEST(BadQuantizedFolder, Float8WithoutScale) {
  testing::TempFolder folder;
  const std::string from = testing::golden_path("quantized/fp8_blocks");
  std::filesystem::copy(from + "/config.json", folder / "config.json");
  std::string image = testing::read_bytes(from + "/model.safetensors");
  const std::string name = "layers.0.self_attn.k_proj.weight_scale_inv";
  image.replace(image.find(name), name.size(), "layers.0.self_attn.k_proj.weight_scale_xyz");
  unwrap(write_text_atomic(folder / "model.safetensors", image));
  testing::expect_user_error([&] { read_model(folder.path()); },
                             {kLayer + ".weight", "no scale", "weight_scale_inv", "F8_E4M3"});
}

TEST(BadQuantizedFolder, TensorsOfOtherMethods) {
  const auto refuses = [](const std::string& name, const std::function<void(Folder&)>& edit,
                          const std::vector<std::string>& parts) {
    SCOPED_TRACE(name);
    Folder folder(name);
    edit(folder);
    folder.refuses(parts);
  };
  refuses("awq", [](Folder& f) { f.tensors.erase(kLayer + ".qzeros"); }, {".qzeros", "missing"});
  refuses(
      "awq",
      [](Folder& f) { f.tensors[kLayer + ".scales"] = HostTensor::zeros(DType::kF16, {2, 31}); },
      {".scales", "[2, 32]", "[2, 31]"});
  const std::string experts = "model.layers.0.mlp.experts.down_proj";
  refuses("mxfp4", [&](Folder& f) { f.tensors.erase(experts + "_scales"); },
          {experts + "_scales", "missing"});
  refuses("mxfp4",
          [&](Folder& f) {
            f.change(experts + "_scales", [](HostTensor& scales) { scales.set_f64(0, 255); });
          },
          {experts, "not finite"});
  refuses("ct_int4", [](Folder& f) { f.tensors.erase(kLayer + ".weight_scale"); },
          {".weight_scale", "missing"});
  refuses("ct_int4",
          [](Folder& f) {
            f.change(kLayer + ".weight_shape", [](HostTensor& shape) { shape.set_f64(1, -1); });
          },
          {".weight_shape", "-1"});
  refuses("ct_int4",
          [](Folder& f) {
            f.change(kLayer + ".weight_shape", [](HostTensor& shape) { shape.set_f64(1, 1e9); });
          },
          {".weight_packed"});
  const std::string state = kLayer + ".weight.quant_state.bitsandbytes__nf4";
  refuses("bnb_nf4", [&](Folder& f) { f.tensors.erase(state); }, {state, "missing"});
  refuses("bnb_nf4",
          [&](Folder& f) { f.change(state, [](HostTensor& text) { text.set_f64(0, '['); }); },
          {state});
  refuses("bnb_nf4", [](Folder& f) { f.tensors.erase(kLayer + ".weight.nested_absmax"); },
          {".nested_absmax", "missing"});
  refuses("bnb_nf4",
          [](Folder& f) { f.tensors[kLayer + ".weight"] = HostTensor::zeros(DType::kU8, {7, 1}); },
          {kLayer + ".weight", "1024 bytes", "7"});
  refuses("bnb_int8",
          [](Folder& f) { f.tensors[kLayer + ".SCB"] = HostTensor::zeros(DType::kF32, {5}); },
          {".SCB", "[32, 1]", "[5]"});
}

}  // namespace
}  // namespace tapml::frontend
