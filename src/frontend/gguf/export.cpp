#include "frontend/gguf/export.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/strings.h"
#include "frontend/gguf/config.h"
#include "frontend/huggingface/foreign.h"
#include "frontend/huggingface/tied_head.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "text/structural.h"

namespace tapml::frontend {

namespace {

constexpr int64_t kQuantizationVersion = 2;  // of the block types

bool is_plain(const GgufFileType& type) {
  return std::ranges::find(gguf_types(), type.most, &GgufType::name)->plain.has_value();
}

void add_general(const std::string& name, const GgufFileType& type, GgufExport& plan) {
  plan.metadata.add_text("general.architecture", plan.architecture);
  plan.metadata.add_text("general.type", "model");
  if (!name.empty()) plan.metadata.add_text("general.name", name);
  plan.metadata.add("general.file_type", int64_t{type.id});
  if (!is_plain(type)) plan.metadata.add("general.quantization_version", kQuantizationVersion);
}

GgufMixture mixture_of(const GgufFields& fields) {
  // Layers without attention have no heads.
  const auto most = [&](const char* key) {
    const std::vector<int64_t> values =
        fields.has(key) &&
                std::holds_alternative<std::vector<int64_t>>(*fields.file().find(fields.key(key)))
            ? fields.integers(key)
            : std::vector{fields.integer(key).value_or(0)};
    return values.empty() ? 0 : *std::ranges::max_element(values);
  };
  GgufMixture mixture{.layers = fields.required_integer(".block_count"),
                      .heads = most(".attention.head_count"),
                      .kv_heads = most(".attention.head_count_kv"),
                      .experts = fields.integer(".expert_count").value_or(0),
                      .is_tied = fields.tensor("output.weight") == nullptr};
  if (mixture.kv_heads == 0) mixture.kv_heads = mixture.heads;
  return mixture;
}

// Chooses the types of the tensors.
void add_infos(const GgufFileType& type, GgufExport& plan) {
  const GgufFile file = plan.file();
  const GgufMixture mixture = mixture_of(GgufFields(file, "the exported file"));
  constexpr int64_t kWholeBlocks = 256;
  for (const GgufExportTensor& tensor : plan.tensors) {
    const GgufType& own = gguf_tensor_type(type, mixture, tensor.name, tensor.shape);
    Shape whole = tensor.shape;
    whole.back() = kWholeBlocks;
    if (&own != &gguf_tensor_type(type, mixture, tensor.name, whole)) ++plan.fallbacks;
    plan.infos.push_back({tensor.name, &own, tensor.shape});
  }
}

// What the file cannot give back bit by bit: numbers that tensors or rounded factors stand for.
void trust_rounded(const PublishedDecoder& model, Json& config) {
  using Scaling = models::RopeConfig::Scaling;
  const Scaling scaling = model.fields.rope.scaling;
  if (scaling == Scaling::kLlama3 || scaling == Scaling::kLongRope) {
    const JsonObjectReader json = model.reader();
    config.set("rope_scaling", models::rope_fields(json)->json());
  }
  if (model.config.architecture != "minicpm") return;
  for (const char* key : {"scale_emb", "scale_depth", "dim_model_base"}) {
    if (const Json* value = model.json.find(key)) config.set(key, *value);
  }
}

// Reads the metadata as a reader of the file does, and compares the model.
void check_expresses(const GgufArchitecture& architecture, const PublishedDecoder& model,
                     const GgufExport& plan) {
  GgufFile file = plan.file();
  std::vector<std::vector<float>> tables;
  for (size_t i = 0; i < file.tensors.size(); ++i) {
    GgufTensor& tensor = file.tensors[i];
    if (!tensor.name.starts_with("rope_f")) continue;
    std::vector<float>& values =
        tables.emplace_back(std::vector<float>(static_cast<size_t>(tensor.size())));
    plan.tensors[i].open()(0, values);
    tensor.bytes = std::as_bytes(std::span(values));
  }
  const std::string source = "the exported file";
  const GgufFields fields(file, source);
  Json json = unwrap(parse_json(gguf_config(architecture, fields), source));
  trust_rounded(model, json);
  const HuggingFaceConfig config = parse_config(json.dump(), source);
  const Module before = model.config.module({}), after = config.module({});
  std::string difference;
  const bool is_same =
      std::ranges::equal(before.functions, after.functions, [&](const auto& a, const auto& b) {
        return a.first == b.first &&
               text::structural_equal(*a.second, *b.second, {.difference = &difference});
      });
  if (is_same) return;
  throw_user(model.source + ": GGUF files of " + in_quotes(architecture.name) +
                 " have no keys for all that this model computes",
             model.source, "a configuration that such a file gives back",
             difference.empty() ? "other functions" : difference.substr(0, 400));
}

const GgufArchitecture& architecture_of(const PublishedDecoder& model) {
  if (const auto* found = find_gguf_architecture_of(model.config.architecture)) return *found;
  std::vector<std::string_view> known;
  for (const GgufArchitecture& one : gguf_architectures()) known.push_back(one.model_type);
  throw_user(model.source + ": " + model.config.architecture + " is not exported to GGUF files",
             model.source, join_choices(known), in_quotes(model.config.architecture));
}

void refuse_part(const GgufFields& fields) {
  const int64_t parts = fields.integer("split.count").value_or(1);
  if (parts <= 1) return;
  fields.refuse("split.count", "says that the model is split into several files", "one file",
                std::to_string(parts) + " files",
                "join them: llama-gguf-split --merge FIRST.gguf WHOLE.gguf");
}

GgufExportTensor tensor_of(const GgufTensor& tensor, std::shared_ptr<const void> owner) {
  return {tensor.name, tensor.shape, [tensor, owner = std::move(owner)] {
            return GgufRows([tensor, owner](int64_t row, std::span<float> to) {
              const size_t bytes = gguf_bytes(*tensor.type, {std::ssize(to)});
              dequantize_gguf(*tensor.type, tensor.bytes.data() + static_cast<size_t>(row) * bytes,
                              to);
            });
          }};
}

}  // namespace

GgufFile GgufExport::file() const {
  GgufFile file;
  file.metadata = metadata.values();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const GgufType* type = i < infos.size() ? infos[i].type : &gguf_types().front();
    file.tensors.push_back({tensors[i].name, type, tensors[i].shape, {}});
  }
  return file;
}

GgufExport plan_gguf_export(PublishedDecoder model, std::shared_ptr<const WeightFiles> files,
                            const std::string& name, const GgufFileType& type,
                            const GgufTokenizerSource* tokenizer) {
  const GgufArchitecture& architecture = architecture_of(model);
  if (has_other_head(model.config, *files)) model.config.model.tied_embeddings = false;
  GgufExport plan;
  plan.architecture = architecture.name;
  add_general(name, type, plan);
  write_gguf_fields(architecture, model, plan.metadata);
  if (tokenizer) {
    write_gguf_tokenizer(*tokenizer, model.config.model.vocabulary, plan.metadata);
  } else {
    plan.metadata.add_text("tokenizer.ggml.model", "no_vocab");
  }
  plan.tensors = gguf_export_tensors(architecture, model, std::move(files));
  check_expresses(architecture, model, plan);
  add_infos(type, plan);
  return plan;
}

GgufExport plan_gguf_export(const std::string& folder, const GgufFileType& type,
                            const GgufTokenizerSource* tokenizer) {
  check_model_folder(folder);
  const std::string path = folder + "/config.json";
  refuse_foreign_file(path);
  PublishedDecoder model = read_published_decoder(unwrap(read_text_file(path)), path);
  auto files = std::make_shared<const WeightFiles>(open_weights(folder));
  const auto absolute = std::filesystem::absolute(folder).lexically_normal();
  const auto last =
      absolute.has_filename() ? absolute.filename() : absolute.parent_path().filename();
  return plan_gguf_export(std::move(model), std::move(files), last.string(), type, tokenizer);
}

GgufExport plan_gguf_conversion(const std::string& path, const GgufFileType& type) {
  const MappedFile mapped = unwrap(map_file(path));
  const GgufFile file = unwrap(parse_gguf(mapped.bytes, mapped.owner, path));
  const GgufFields fields(file, path);
  refuse_part(fields);
  GgufExport plan;
  plan.architecture = fields.architecture();
  plan.owner = mapped.owner;
  for (const auto& [key, value] : file.metadata) {
    const bool is_of_types = key == "general.file_type" || key == "general.quantization_version" ||
                             key == "general.alignment" || key.starts_with("split.");
    if (!is_of_types) plan.metadata.add(key, value);
  }
  plan.metadata.add("general.file_type", int64_t{type.id});
  if (!is_plain(type)) plan.metadata.add("general.quantization_version", kQuantizationVersion);
  for (const GgufTensor& tensor : file.tensors) {
    plan.tensors.push_back(tensor_of(tensor, mapped.owner));
  }
  add_infos(type, plan);
  return plan;
}

}  // namespace tapml::frontend
