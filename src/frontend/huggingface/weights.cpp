#include "frontend/huggingface/weights.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <ranges>
#include <set>

#include "base/hash.h"
#include "base/strings.h"
#include "base/units.h"
#include "frontend/gguf/model.h"
#include "frontend/huggingface/foreign.h"
#include "frontend/huggingface/quantize.h"
#include "frontend/quantized/methods.h"
#include "io/host/files.h"
#include "io/json_reader.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";
constexpr size_t kListed = 4;  // names shown in a message

// Both ends of a model, by the names of published classes.
struct Ends {
  std::string_view embedding, head;
};
constexpr Ends kEnds[] = {
    {"model.embed_tokens.weight", "lm_head.weight"},
    {"model.decoder.embed_tokens.weight", "proj_out.weight"},
    {"transformer.wte.weight", "lm_head.weight"},
    {"transformer.word_embeddings.weight", "lm_head.weight"},
    {"gpt_neox.embed_in.weight", "embed_out.weight"},
    {"backbone.embeddings.weight", "lm_head.weight"},
    {"model.embeddings.weight", "lm_head.weight"},
    {"model.tok_embeddings.weight", "output.weight"},
    {"transformer.embedding.word_embeddings.weight", "transformer.output_layer.weight"}};

std::string list_names(const std::vector<std::string>& names) {
  std::string text = join(names | std::views::take(kListed),
                          [](const std::string& name) { return in_quotes(name); });
  if (names.size() > kListed) text += " and " + std::to_string(names.size() - kListed) + " more";
  return text;
}

// Adds the tensors of a file; `belongs` selects those that belong to it.
void read_file(const std::string& path, WeightFiles& files, const auto& belongs) {
  refuse_foreign_file(path);
  MappedFile mapped = unwrap(map_file(path));
  SafetensorsFile file =
      unwrap(parse_safetensors(mapped.bytes, mapped.owner, path, {.keep_unknown_dtypes = true}));
  for (auto& [name, tensor] : file.tensors) {
    if (!belongs(name)) continue;
    files.tensors.insert_or_assign(name, std::move(tensor));
    files.file_of[name] = path;
  }
  for (const auto& [name, dtype] : file.unknown_dtypes) {
    if (belongs(name)) files.unknown_dtypes[name] = dtype;
  }
  for (auto& [name, tensor] : file.bytes) {
    if (!belongs(name)) continue;
    files.bytes.insert_or_assign(name, std::move(tensor));
    files.file_of[name] = path;
  }
  if (!file.copied.empty()) {
    files.warnings.push_back(path + ": " + std::to_string(file.copied.size()) + " of " +
                             std::to_string(file.tensors.size()) +
                             " tensors are not aligned in the file: they are copied into memory (" +
                             list_names(file.copied) + ")");
  }
}

// Maps tensors to shards according to the index. A shard must be a plain file name in the same
// folder, so that an index cannot refer to other files of the machine.
std::map<std::string, std::string> read_index(const std::string& path) {
  const Json json = unwrap(parse_json(unwrap(read_text_file(path)), path));
  const JsonObjectReader map = unwrap(JsonObjectReader(json, path).required_object("weight_map"));
  std::map<std::string, std::string> shards;
  for (const auto& [name, value] : map.json().members()) {
    // Access by position: looking up each name would take quadratic time.
    if (!value.is_string()) unwrap(map.required_string(name));
    const std::string& shard = value.as_string();
    if (shard.empty() || shard == "." || shard == ".." ||
        shard.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
      throw_error(map.field_error(name, "is not the name of a file next to the index",
                                  "a file name without folders"));
    }
    shards[name] = shard;
  }
  return shards;
}

void read_shards(const std::string& index, WeightFiles& files) {
  const std::map<std::string, std::string> index_of = read_index(index);
  std::set<std::string> shards;
  for (const auto& [name, shard] : index_of) shards.insert(shard);
  for (const std::string& shard : shards) {
    const std::string path = files.folder + "/" + shard;
    std::error_code ignored;
    if (!fs::exists(path, ignored)) {
      throw_user("a weight file is missing: " + path, index, "the file " + in_quotes(shard),
                 "nothing", "the index names it; download it again");
    }
    read_file(path, files, [&](const std::string& name) {
      auto entry = index_of.find(name);
      return entry == index_of.end() || entry->second == shard;
    });
  }
  for (const auto& [name, shard] : index_of) {
    if (files.tensors.contains(name) || files.unknown_dtypes.contains(name)) continue;
    throw_user("tensor " + in_quotes(name) + " is not in the file that the index names", index,
               "a tensor of that name in " + in_quotes(shard), "no such tensor");
  }
}

// "model-00001-of-00003.safetensors": the name of shard `part` of `parts`.
std::string shard_name(size_t part, size_t parts) {
  const auto digits = [](size_t number) {
    const std::string text = std::to_string(number);
    return std::string(text.size() < 5 ? 5 - text.size() : 0, '0') + text;
  };
  return "model-" + digits(part) + "-of-" + digits(parts) + ".safetensors";
}

// Whether a complete set of shards without an index exists.
bool read_whole_set(WeightFiles& files) {
  constexpr size_t kMostShards = 1024;
  std::error_code ignored;
  for (size_t parts = 1; parts <= kMostShards; ++parts) {
    if (!fs::exists(files.folder + "/" + shard_name(1, parts), ignored)) continue;
    for (size_t part = 1; part <= parts; ++part) {
      const std::string name = shard_name(part, parts), path = files.folder + "/" + name;
      if (!fs::exists(path, ignored)) {
        throw_user("a weight file is missing: " + path, files.folder, "the file " + in_quotes(name),
                   "nothing", "download it again, with " + std::string(kIndexFile));
      }
      read_file(path, files, [](const std::string&) { return true; });
    }
    return true;
  }
  return false;
}

void check_weight(const std::string& name, const Shape& shape, const HostTensor& tensor,
                  const std::string& file, const std::string& hint) {
  if (tensor.shape() != shape) {
    throw_user("weight " + in_quotes(name) + " has another shape than config.json implies", file,
               shape_to_string(shape), shape_to_string(tensor.shape()), hint);
  }
  const DType dtype = tensor.dtype();
  if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16) {
    throw_user("weight " + in_quotes(name) + " has a dtype that is not supported", file,
               "f32, f16 or bf16", dtype_name(dtype));
  }
}

// A tensor that fuses a weight of all experts: `rows` rows of each, starting at `first`.
struct FusedForm {
  std::string name;
  int64_t first = 0;
  int64_t rows = 0;
};

// BERT's first files, which were made from TensorFlow's, have other names for the parts of norms.
std::string early_name(const std::string& name) {
  for (const auto& [part, early] : {std::pair{".LayerNorm.weight", ".LayerNorm.gamma"},
                                    std::pair{".LayerNorm.bias", ".LayerNorm.beta"}}) {
    const std::string_view suffix = part;
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size()) + early;
  }
  return name;
}

// The names that transformers 5 and other writers use for fused expert matrices: with or without
// ".weight", gate and up projections combined.
std::vector<FusedForm> fused_forms(const models::WeightSpec& spec) {
  const std::string suffix = ".weight";
  const std::string path = spec.name.substr(0, spec.name.size() - suffix.size());
  std::vector<FusedForm> forms;
  const int64_t outputs = spec.shape.at(1);
  if (outputs > std::numeric_limits<int32_t>::max()) return forms;
  const auto add = [&](const std::string& name, int64_t first, int64_t rows) {
    forms.push_back({name, first, rows});
    forms.push_back({name + suffix, first, rows});
  };
  add(path, 0, outputs);
  for (const auto& [projection, first] :
       {std::pair{"gate_proj", int64_t{0}}, std::pair{"up_proj", outputs}}) {
    if (!path.ends_with(std::string(".") + projection)) continue;
    const std::string experts = path.substr(0, path.size() - std::string_view(projection).size());
    add(experts + "gate_up_proj", first, 2 * outputs);
  }
  return forms;
}

// The last two dimensions in the other order.
Shape swapped(Shape shape) {
  if (shape.size() >= 2) std::swap(shape.back(), shape[shape.size() - 2]);
  return shape;
}

// Tensors of equal shapes and dtypes as one with a further dimension.
HostTensor stacked(std::span<const HostTensor> tensors) {
  Shape shape = tensors.front().shape();
  shape.insert(shape.begin(), std::ssize(tensors));
  HostTensor result = HostTensor::zeros(tensors.front().dtype(), std::move(shape));
  std::byte* to = result.mutable_bytes().data();
  for (const HostTensor& one : tensors) to = std::ranges::copy(one.bytes(), to).out;
  return result;
}

// Quantized weights of equal shapes as one. It stays quantized if they have the same layout, and
// their columns the published order.
std::shared_ptr<const BlockWeight> joined_blocks(
    std::vector<std::shared_ptr<const BlockWeight>> parts) {
  const BlockWeight& first = *parts.front();
  BlockWeight whole{.shape = first.shape,
                    .type = first.type,
                    .stored = {},
                    .layout = first.layout,
                    .packed = {},
                    .expanded = {}};
  whole.shape.insert(whole.shape.begin(), std::ssize(parts));
  if (first.layout && first.layout->has_order) whole.layout.reset();
  for (const auto& part : parts) {
    if (part->layout != whole.layout) whole.layout.reset();
    whole.stored.insert(whole.stored.end(), part->stored.begin(), part->stored.end());
  }
  whole.packed = [parts] {
    std::vector<HostTensor> packed, scales, minimums;
    for (const auto& part : parts) {
      QuantizedWeight one = part->packed();
      packed.push_back(std::move(one.packed));
      scales.push_back(std::move(one.scales));
      if (one.minimums) minimums.push_back(std::move(*one.minimums));
    }
    QuantizedWeight all{.packed = stacked(packed), .scales = stacked(scales)};
    if (!minimums.empty()) all.minimums = stacked(minimums);
    return all;
  };
  whole.expanded = [parts = std::move(parts)] {
    std::vector<HostTensor> expanded;
    for (const auto& part : parts) expanded.push_back(part->expanded());
    return stacked(expanded);
  };
  return std::make_shared<const BlockWeight>(std::move(whole));
}

class SourceFinder {
 public:
  SourceFinder(const WeightFiles& files, bool wants_head, std::string hint)
      : files_(files), wants_head_(wants_head), hint_(std::move(hint)) {}

  const std::vector<std::string>& missing() const { return missing_; }
  const std::set<std::string>& used() const { return used_; }

  // Where a weight is stored in the files; nullopt if part of it is missing.
  std::optional<SourceWeight> find(const models::WeightSpec& spec) {
    const bool whole = spec.parts.empty();
    const bool fits = whole || (spec.shape.size() == 3 &&
                                spec.shape[0] == static_cast<int64_t>(spec.parts.size()));
    if (!fits) {
      throw_user(
          "weight " + in_quotes(spec.name) + " has a number of parts that does not match its shape",
          "", shape_to_string(spec.shape), std::to_string(spec.parts.size()) + " parts");
    }
    if (!whole && stored_as(spec.parts[0]).empty()) {
      if (auto fused = find_fused(spec)) return fused;
    }
    const std::vector<std::string> names = whole ? std::vector{spec.name} : spec.parts;
    const Shape part_shape(spec.shape.begin() + (whole ? 0 : 1), spec.shape.end());
    SourceWeight source;
    for (const std::string& name : names) {
      const std::string stored = stored_as(name);
      if (stored.empty()) {
        missing_.push_back(name);
        continue;
      }
      if (const auto blocks = files_.blocks.find(stored); blocks != files_.blocks.end()) {
        if (whole) return take_blocks(stored, *blocks->second, spec);
        if (source.parts.empty()) return take_parts(spec);
        refuse_blocks(stored);
      }
      const HostTensor& part = take(stored);
      const std::string& file = files_.file_of.at(stored);
      check_weight(name, part_shape, part, file, hint_);
      if (!source.parts.empty() && part.dtype() != source.dtype()) {
        throw_user("weight " + in_quotes(name) + " has another dtype than " + in_quotes(names[0]),
                   file, dtype_name(source.dtype()), dtype_name(part.dtype()),
                   "the two are combined into one tensor");
      }
      source.parts.push_back(part);
    }
    if (source.parts.size() != names.size()) return std::nullopt;
    return source;
  }

 private:
  // With tied embeddings, files may contain only the head.
  std::string stored_as(const std::string& name) const {
    std::string stored = files_.stored_name(name);
    // Newer versions of transformers write GPT-NeoX's head under the name of all others.
    if (stored.empty() && name == "embed_out.weight") stored = files_.stored_name("lm_head.weight");
    if (stored.empty()) stored = files_.stored_name(early_name(name));
    if (!stored.empty() || wants_head_) return stored;
    const auto ends = std::ranges::find(kEnds, name, &Ends::embedding);
    if (ends != std::end(kEnds)) stored = files_.stored_name(std::string(ends->head));
    return stored;
  }

  [[noreturn]] void refuse_blocks(const std::string& stored) const {
    throw_user("weight " + in_quotes(stored) + " is quantized, but only a part of a weight",
               files_.file_of.at(stored), "f32, f16 or bf16", files_.blocks.at(stored)->type);
  }

  void check_shape(const std::string& stored, const Shape& shape) const {
    const Shape& found = files_.blocks.at(stored)->shape;
    if (found == shape) return;
    throw_user("weight " + in_quotes(stored) + " has another shape than config.json implies",
               files_.file_of.at(stored), shape_to_string(shape), shape_to_string(found), hint_);
  }

  SourceWeight take_blocks(const std::string& stored, const BlockWeight& blocks,
                           const models::WeightSpec& spec) {
    used_.insert(stored);
    const bool is_swapped = spec.transposed && blocks.shape == swapped(spec.shape);
    if (!is_swapped) check_shape(stored, spec.transposed ? swapped(spec.shape) : spec.shape);
    return {.parts = {}, .blocks = files_.blocks.at(stored)};
  }

  // One weight of the quantized parts.
  std::optional<SourceWeight> take_parts(const models::WeightSpec& spec) {
    const Shape shape(spec.shape.begin() + 1, spec.shape.end());
    std::vector<std::shared_ptr<const BlockWeight>> parts;
    for (const std::string& name : spec.parts) {
      const std::string stored = stored_as(name);
      if (stored.empty()) {
        missing_.push_back(name);
        continue;
      }
      const auto blocks = files_.blocks.find(stored);
      if (blocks == files_.blocks.end()) {
        throw_user("weight " + in_quotes(stored) + " is not quantized, but others of its layer are",
                   files_.file_of.at(stored), parts.front()->type, "a tensor of numbers");
      }
      used_.insert(stored);
      check_shape(stored, shape);
      parts.push_back(blocks->second);
    }
    if (parts.size() != spec.parts.size()) return std::nullopt;
    return SourceWeight{.parts = {}, .blocks = joined_blocks(std::move(parts))};
  }

  const HostTensor& take(const std::string& stored) {
    used_.insert(stored);
    if (auto unknown = files_.unknown_dtypes.find(stored); unknown != files_.unknown_dtypes.end()) {
      throw_user("weight " + in_quotes(stored) + " has a dtype that is not supported",
                 files_.folder, "f32, f16 or bf16", unknown->second);
    }
    return files_.tensors.at(stored);
  }

  // Views of the experts' rows.
  std::optional<SourceWeight> find_fused(const models::WeightSpec& spec) {
    for (const FusedForm& form : fused_forms(spec)) {
      const std::string stored = files_.stored_name(form.name);
      if (stored.empty()) continue;
      if (const auto blocks = files_.blocks.find(stored); blocks != files_.blocks.end()) {
        if (form.rows != spec.shape[1]) refuse_blocks(stored);
        return take_blocks(stored, *blocks->second, spec);
      }
      const HostTensor& all = take(stored);
      const Shape expected = {spec.shape[0], form.rows, spec.shape[2]};
      check_weight(stored, expected, all, files_.file_of.at(stored), hint_);
      const Shape part = {spec.shape[1], spec.shape[2]};
      const auto row_bytes = static_cast<int64_t>(dtype_bytes(all.dtype())) * spec.shape[2];
      SourceWeight source;
      for (int64_t expert = 0; expert < spec.shape[0]; ++expert) {
        const int64_t offset = (expert * form.rows + form.first) * row_bytes;
        source.parts.push_back(HostTensor::view(all.dtype(), part, all.bytes().data() + offset,
                                                std::make_shared<HostTensor>(all)));
      }
      return source;
    }
    return std::nullopt;
  }

  const WeightFiles& files_;
  bool wants_head_;
  std::string hint_;
  std::vector<std::string> missing_;
  std::set<std::string> used_;
};

// Copies the parts if files store them separately.
HostTensor whole_weight(const models::WeightSpec& spec, const SourceWeight& source) {
  if (spec.parts.empty()) return source.parts[0];
  HostTensor whole = HostTensor::zeros(source.dtype(), spec.shape);
  std::byte* to = whole.mutable_bytes().data();
  for (const HostTensor& part : source.parts) {
    std::span<const std::byte> bytes = part.bytes();
    std::copy(bytes.begin(), bytes.end(), to);
    to += bytes.size();
  }
  return whole;
}

// The matrix, or matrices, with rows and columns exchanged.
HostTensor transposed(const HostTensor& whole) {
  const Shape& shape = whole.shape();
  const int64_t rows = shape[shape.size() - 2], columns = shape.back();
  HostTensor result = HostTensor::zeros(DType::kF32, swapped(shape));
  const float* from = whole.values<float>().data();
  float* to = result.mutable_values<float>().data();
  for (int64_t first = 0; first < whole.size(); first += rows * columns) {
    for (int64_t i = 0; i < rows * columns; ++i) {
      to[first + i % columns * rows + i / columns] = from[first + i];
    }
  }
  return result;
}

// The numbers of a quantized weight as its specification has them.
HostTensor expanded_blocks(const models::WeightSpec& spec, const BlockWeight& blocks) {
  HostTensor whole = blocks.expanded();
  return spec.transposed ? transposed(whole) : whole;
}

// Whether the model computes on the weight as it is stored.
bool can_stay(const models::WeightSpec& spec, const BlockWeight& blocks) {
  return spec.expands && blocks.layout && (spec.reorders || !blocks.layout->has_order);
}

// Buffers that older versions of transformers stored with the weights; they are derived from the
// configuration: rotations, the numbers of positions (BERT), and causal masks (".attn.bias" of
// GPT-2 and ".attention.bias" of GPT-NeoX, which are no biases).
bool is_derived(const std::string& name) {
  constexpr std::string_view kSuffixes[] = {
      ".rotary_emb.inv_freq",   ".rotary_pos_emb.inv_freq", ".attn.bias",
      ".attn.masked_bias",      ".attention.bias",          ".attention.masked_bias",
      "embeddings.position_ids"};
  return std::ranges::any_of(kSuffixes,
                             [&](std::string_view suffix) { return name.ends_with(suffix); });
}

}  // namespace

std::string SourceWeight::hash(const Shape& shape) const {
  Sha256 hash;
  if (blocks) {
    hash.update(blocks->type + "|" + shape_to_string(shape) + "|");
    for (const HostTensor& one : blocks->stored) hash.update(one.bytes());
    return to_hex(hash.digest());
  }
  hash.update(std::string(dtype_name(dtype())) + "|" + shape_to_string(shape) + "|");
  for (const HostTensor& part : parts) hash.update(part.bytes());
  return to_hex(hash.digest());
}

std::string WeightFiles::stored_name(const std::string& name) const {
  const auto there = [this](const std::string& stored) {
    return tensors.contains(stored) || blocks.contains(stored) || unknown_dtypes.contains(stored);
  };
  if (there(name)) return name;
  const size_t dot = name.find('.');
  if (dot == std::string::npos) return {};
  const std::string bare = name.substr(dot + 1);
  // "backbone" is Nemotron-H's name of the model; the last three are of a language model inside of
  // one that also reads images or sound.
  for (const std::string& stored : {bare, "backbone." + bare, "language_model." + name,
                                    "model.language_model." + bare, "model.text_model." + bare}) {
    if (there(stored)) return stored;
  }
  // Before transformers 5 a vision encoder was inside of a module of its own.
  constexpr std::string_view kTower = "vision_tower.";
  if (!bare.starts_with(kTower)) return {};
  const std::string inner = std::string(kTower) + "vision_model." + bare.substr(kTower.size());
  for (const std::string& stored : {inner, "model." + inner}) {
    if (there(stored)) return stored;
  }
  return {};
}

WeightFiles open_weights(const std::string& folder) {
  if (is_gguf_model(folder)) return open_gguf_weights(folder);
  WeightFiles files;
  files.folder = folder;
  const std::string single = folder + "/" + kSingleFile, index = folder + "/" + kIndexFile;
  std::error_code ignored;
  if (fs::exists(single, ignored)) {
    read_file(single, files, [](const std::string&) { return true; });
  } else if (fs::exists(index, ignored)) {
    refuse_foreign_file(index);
    read_shards(index, files);
  } else if (!read_whole_set(files)) {
    refuse_folder_without_weights(folder);
  }
  arrange_quantized(read_quantized_layers(folder), files);
  return files;
}

LoadedWeights load_weights(const std::string& folder, const std::vector<models::WeightSpec>& wanted,
                           const std::vector<std::string>& ignored,
                           const models::QuantizationRef& quantization) {
  return load_weights(open_weights(folder), wanted, ignored, quantization);
}

LoadedWeights load_weights(const WeightFiles& files, const std::vector<models::WeightSpec>& wanted,
                           const std::vector<std::string>& ignored,
                           const models::QuantizationRef& quantization, const std::string& hint,
                           const WorkWatcher& watcher) {
  const bool wants_head = std::ranges::any_of(wanted, [](const auto& spec) {
    return std::ranges::find(kEnds, spec.name, &Ends::head) != std::end(kEnds);
  });
  SourceFinder finder(files, wants_head, hint);
  LoadedWeights loaded;
  loaded.warnings = files.warnings;
  for (const models::WeightSpec& spec : wanted) {
    std::optional<SourceWeight> source = finder.find(spec);
    if (source) loaded.sources[spec.name] = std::move(*source);
  }
  if (!finder.missing().empty()) {
    throw_user("weights are missing: " + list_names(finder.missing()), files.folder,
               std::to_string(wanted.size()) + " weights, as config.json implies",
               std::to_string(loaded.sources.size()) + " of them",
               hint.empty() ? "check that config.json belongs to these weights" : hint);
  }
  int64_t made = 0, expanded_bytes = 0;
  std::vector<std::string> expanded;  // quantized in the files
  for (const models::WeightSpec& spec : wanted) {
    tell(watcher, {quantization ? "quantize" : "read", made++, std::ssize(wanted), "weights"});
    const SourceWeight& source = loaded.sources.at(spec.name);
    const auto layout = quantization ? quantization->layout_of(spec) : std::nullopt;
    const bool stays = source.blocks && can_stay(spec, *source.blocks) && !layout;
    if (!layout && !stays) {
      loaded.tensors[spec.name] =
          source.blocks ? expanded_blocks(spec, *source.blocks) : whole_weight(spec, source);
      if (source.blocks) {
        expanded.push_back(spec.name);
        expanded_bytes += static_cast<int64_t>(loaded.tensors[spec.name].byte_size());
      }
      continue;
    }
    QuantizedWeight quantized;
    if (stays) {
      quantized = source.blocks->packed();
      models::WeightLayout stored = *source.blocks->layout;
      stored.is_swapped = spec.transposed;
      loaded.layouts[spec.name] = std::move(stored);
    } else if (source.blocks) {
      const HostTensor whole = expanded_blocks(spec, *source.blocks);
      quantized = quantize_weight(spec, std::span(&whole, 1), *layout, files.folder);
    } else {
      quantized = quantize_weight(spec, source.parts, *layout, files.folder);
    }
    loaded.tensors[models::packed_name(spec.name)] = std::move(quantized.packed);
    loaded.tensors[models::scales_name(spec.name)] = std::move(quantized.scales);
    if (quantized.minimums) {
      loaded.tensors[models::minimums_name(spec.name)] = std::move(*quantized.minimums);
    }
    if (quantized.order) {
      loaded.tensors[models::order_name(spec.name)] = std::move(*quantized.order);
    }
  }
  if (!expanded.empty()) {
    loaded.warnings.push_back("quantized weights become f32, which take " +
                              size_text(expanded_bytes) + ": " + list_names(expanded));
  }
  tell(watcher, {"read", made, made, "weights"});
  std::vector<std::string> extra;
  const auto add_extra = [&](const std::string& name, const std::string& listed) {
    const bool expected = finder.used().contains(name) || is_derived(name) ||
                          std::find(ignored.begin(), ignored.end(), name) != ignored.end();
    if (!expected) extra.push_back(listed);
  };
  for (const auto& [name, tensor] : files.tensors) add_extra(name, name);
  for (const auto& [name, weight] : files.blocks) add_extra(name, name);
  for (const auto& [name, dtype] : files.unknown_dtypes) add_extra(name, name + " of " + dtype);
  if (!extra.empty()) {
    loaded.warnings.push_back("weights that the model does not use are ignored: " +
                              list_names(extra));
  }
  return loaded;
}

}  // namespace tapml::frontend
