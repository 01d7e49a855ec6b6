#include "frontend/huggingface/weights.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "base/strings.h"
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
    text += (i ? ", " : "") + tapml::quoted(names[i]);
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
    if (!fs::exists(path)) {
      throw_user("a weight file is missing: " + path, index, "the file " + tapml::quoted(shard),
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
    throw_user("tensor " + tapml::quoted(name) + " is not in the file that the index names", index,
               "a tensor of that name in " + tapml::quoted(shard), "no such tensor");
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
    throw_user("weight " + tapml::quoted(spec.name) + " has another shape than config.json implies",
               file, shape_to_string(spec.shape), shape_to_string(tensor.shape()));
  }
  const DType dtype = tensor.dtype();
  if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16) {
    throw_user("weight " + tapml::quoted(spec.name) + " has a dtype that is not supported", file,
               "f32, f16 or bf16", dtype_name(dtype));
  }
}

// The tensors of `spec.parts` as one: a copy, since files keep them apart. Nothing where some are
// missing, which `missing` then names.
std::optional<HostTensor> stack_parts(const models::WeightSpec& spec, const Found& found,
                                      std::vector<std::string>& missing) {
  const Shape part_shape(spec.shape.begin() + 1, spec.shape.end());
  std::vector<const HostTensor*> parts;
  for (const std::string& name : spec.parts) {
    auto it = found.tensors.find(name);
    if (it == found.tensors.end()) {
      missing.push_back(name);
      continue;
    }
    const HostTensor& part = it->second;
    const std::string& file = found.file_of.at(name);
    check_weight({name, part_shape, {}}, part, file);
    if (!parts.empty() && part.dtype() != parts[0]->dtype()) {
      throw_user("weight " + tapml::quoted(name) + " has another dtype than " +
                     tapml::quoted(spec.parts[0]),
                 file, dtype_name(parts[0]->dtype()), dtype_name(part.dtype()),
                 "the two become one tensor");
    }
    parts.push_back(&part);
  }
  if (parts.size() != spec.parts.size()) return std::nullopt;
  HostTensor whole = HostTensor::zeros(parts[0]->dtype(), spec.shape);
  std::byte* to = whole.mutable_bytes().data();
  for (const HostTensor* part : parts) {
    std::span<const std::byte> bytes = part->bytes();
    std::copy(bytes.begin(), bytes.end(), to);
    to += bytes.size();
  }
  return whole;
}

// Buffers that older versions of transformers stored beside the weights; they follow from the
// configuration.
bool is_derived(const std::string& name) { return name.ends_with(".rotary_emb.inv_freq"); }

}  // namespace

LoadedWeights load_weights(const std::string& folder, const std::vector<models::WeightSpec>& wanted,
                           const std::vector<std::string>& ignored) {
  Found found = read_folder(folder);
  LoadedWeights loaded;
  std::vector<std::string> missing;
  std::set<std::string> stacked;
  for (const models::WeightSpec& spec : wanted) {
    if (!spec.parts.empty()) {
      if (auto whole = stack_parts(spec, found, missing)) loaded.tensors[spec.name] = *whole;
      stacked.insert(spec.parts.begin(), spec.parts.end());
      continue;
    }
    auto it = found.tensors.find(spec.name);
    if (it == found.tensors.end()) {
      missing.push_back(spec.name);
      continue;
    }
    check_weight(spec, it->second, found.file_of[spec.name]);
    loaded.tensors[spec.name] = it->second;
  }
  if (!missing.empty()) {
    throw_user("weights are missing: " + list_names(missing), folder,
               std::to_string(wanted.size()) + " weights, as config.json implies",
               std::to_string(loaded.tensors.size()) + " of them",
               "check that config.json belongs to these weights");
  }
  std::vector<std::string> extra;
  for (const auto& [name, tensor] : found.tensors) {
    const bool expected = loaded.tensors.contains(name) || stacked.contains(name) ||
                          is_derived(name) ||
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
