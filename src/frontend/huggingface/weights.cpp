#include "frontend/huggingface/weights.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "base/hash.h"
#include "base/strings.h"
#include "frontend/huggingface/quantize.h"
#include "io/host/files.h"
#include "io/json_reader.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";
constexpr size_t kListed = 4;  // names that a message shows

struct Found {
  std::map<std::string, HostTensor> tensors;
  std::map<std::string, std::string> file_of;  // tensor to the file it is in
};

std::string list_names(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < kListed; ++i) {
    text += (i ? ", " : "") + in_quotes(names[i]);
  }
  if (names.size() > kListed) text += " and " + std::to_string(names.size() - kListed) + " more";
  return text;
}

std::map<std::string, HostTensor> read_file(const std::string& path) {
  MappedFile file = unwrap(map_file(path));
  return unwrap(parse_safetensors(file.bytes, file.owner, path)).tensors;
}

// Tensor to shard, by the index. A shard is a plain name in the same folder, so that an index
// reaches no other place of the machine.
std::map<std::string, std::string> read_index(const std::string& path) {
  const Json json = unwrap(parse_json(unwrap(read_text_file(path)), path));
  const JsonObjectReader map = unwrap(JsonObjectReader(json, path).required_object("weight_map"));
  std::map<std::string, std::string> shards;
  for (const auto& [name, value] : map.json().members()) {
    // Looked up by position: a search for each name would take the square of their number.
    if (!value.is_string()) unwrap(map.required_string(name));
    const std::string& shard = value.as_string();
    if (shard.empty() || shard == "." || shard == ".." ||
        shard.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
      throw_error(map.field_error(name, "is not the name of a file beside the index",
                                  "a file name without folders"));
    }
    shards[name] = shard;
  }
  return shards;
}

Found read_shards(const std::string& folder, const std::string& index) {
  Found found;
  const std::map<std::string, std::string> index_of = read_index(index);
  std::set<std::string> shards;
  for (const auto& [name, shard] : index_of) shards.insert(shard);
  for (const std::string& shard : shards) {
    const std::string path = folder + "/" + shard;
    std::error_code ignored;
    if (!fs::exists(path, ignored)) {
      throw_user("a weight file is missing: " + path, index, "the file " + in_quotes(shard),
                 "nothing", "the index names it; download it again");
    }
    for (auto& [name, tensor] : read_file(path)) {
      auto entry = index_of.find(name);
      if (entry != index_of.end() && entry->second != shard) continue;
      found.tensors[name] = tensor;
      found.file_of[name] = path;
    }
  }
  for (const auto& [name, shard] : index_of) {
    if (found.tensors.contains(name)) continue;
    throw_user("tensor " + in_quotes(name) + " is not in the file that the index names", index,
               "a tensor of that name in " + in_quotes(shard), "no such tensor");
  }
  return found;
}

Found read_folder(const std::string& folder) {
  const std::string single = folder + "/" + kSingleFile, index = folder + "/" + kIndexFile;
  if (fs::exists(single)) {
    Found found;
    found.tensors = read_file(single);
    for (const auto& [name, tensor] : found.tensors) found.file_of[name] = single;
    return found;
  }
  if (fs::exists(index)) return read_shards(folder, index);
  throw_user("there are no weights in " + folder, folder,
             std::string(kSingleFile) + " or " + kIndexFile, "neither",
             "other formats (such as pytorch_model.bin) are not read");
}

void check_weight(const models::WeightSpec& spec, const HostTensor& tensor,
                  const std::string& file) {
  if (tensor.shape() != spec.shape) {
    throw_user("weight " + in_quotes(spec.name) + " has another shape than config.json implies",
               file, shape_to_string(spec.shape), shape_to_string(tensor.shape()));
  }
  const DType dtype = tensor.dtype();
  if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16) {
    throw_user("weight " + in_quotes(spec.name) + " has a dtype that is not supported", file,
               "f32, f16 or bf16", dtype_name(dtype));
  }
}

// What files have of a weight: nothing where some of it is missing, which `missing` then names.
std::optional<SourceWeight> find_source(const models::WeightSpec& spec, const Found& found,
                                        std::vector<std::string>& missing) {
  const bool whole = spec.parts.empty();
  if (!whole && (spec.shape.empty() || spec.shape[0] != static_cast<int64_t>(spec.parts.size()))) {
    throw_user("weight " + in_quotes(spec.name) + " has another number of parts than its shape", "",
               shape_to_string(spec.shape), std::to_string(spec.parts.size()) + " parts");
  }
  const std::vector<std::string> names = whole ? std::vector{spec.name} : spec.parts;
  const Shape part_shape(spec.shape.begin() + (whole ? 0 : 1), spec.shape.end());
  SourceWeight source;
  for (const std::string& name : names) {
    auto it = found.tensors.find(name);
    if (it == found.tensors.end()) {
      missing.push_back(name);
      continue;
    }
    const HostTensor& part = it->second;
    const std::string& file = found.file_of.at(name);
    check_weight({name, part_shape, {}}, part, file);
    if (!source.parts.empty() && part.dtype() != source.dtype()) {
      throw_user("weight " + in_quotes(name) + " has another dtype than " + in_quotes(names[0]),
                 file, dtype_name(source.dtype()), dtype_name(part.dtype()),
                 "the two become one tensor");
    }
    source.parts.push_back(part);
  }
  if (source.parts.size() != names.size()) return std::nullopt;
  return source;
}

// A copy where files keep its parts apart.
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

// Buffers that older versions of transformers stored beside the weights; they follow from the
// configuration.
bool is_derived(const std::string& name) { return name.ends_with(".rotary_emb.inv_freq"); }

}  // namespace

std::string SourceWeight::hash(const Shape& shape) const {
  Sha256 hash;
  hash.update(std::string(dtype_name(dtype())) + "|" + shape_to_string(shape) + "|");
  for (const HostTensor& part : parts) hash.update(part.bytes());
  return to_hex(hash.digest());
}

LoadedWeights load_weights(const std::string& folder, const std::vector<models::WeightSpec>& wanted,
                           const std::vector<std::string>& ignored,
                           const models::Quantization* quantization) {
  Found found = read_folder(folder);
  LoadedWeights loaded;
  std::vector<std::string> missing;
  std::set<std::string> used;
  for (const models::WeightSpec& spec : wanted) {
    std::optional<SourceWeight> source = find_source(spec, found, missing);
    used.insert(spec.parts.begin(), spec.parts.end());
    if (spec.parts.empty()) used.insert(spec.name);
    if (source) loaded.sources[spec.name] = std::move(*source);
  }
  if (!missing.empty()) {
    throw_user("weights are missing: " + list_names(missing), folder,
               std::to_string(wanted.size()) + " weights, as config.json implies",
               std::to_string(loaded.sources.size()) + " of them",
               "check that config.json belongs to these weights");
  }
  for (const models::WeightSpec& spec : wanted) {
    const SourceWeight& source = loaded.sources.at(spec.name);
    if (!quantization || !spec.linear) {
      loaded.tensors[spec.name] = whole_weight(spec, source);
      continue;
    }
    QuantizedWeight quantized = quantize_weight(spec, source.parts, *quantization, folder);
    loaded.tensors[models::packed_name(spec.name)] = std::move(quantized.packed);
    loaded.tensors[models::scales_name(spec.name)] = std::move(quantized.scales);
  }
  std::vector<std::string> extra;
  for (const auto& [name, tensor] : found.tensors) {
    const bool expected = used.contains(name) || is_derived(name) ||
                          std::find(ignored.begin(), ignored.end(), name) != ignored.end();
    if (!expected) extra.push_back(name);
  }
  if (!extra.empty()) {
    loaded.warnings.push_back("weights that the model does not use are ignored: " +
                              list_names(extra));
  }
  return loaded;
}

}  // namespace tapml::frontend
