#include "app/tensor_file.h"

#include <map>
#include <vector>

#include "base/strings.h"
#include "base/suggest.h"
#include "io/host/files.h"
#include "io/numpy.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"

namespace tapml::app {

namespace {

std::map<std::string, HostTensor> tensors_of(const std::string& path) {
  const MappedFile file = unwrap(map_file(path));
  if (path.ends_with(".npz")) return unwrap(parse_npz(file.bytes, path));
  return unwrap(parse_safetensors(file.bytes, file.owner, path)).tensors;
}

}  // namespace

HostTensor read_tensor(const std::string& path, std::string name, const std::string& parameter) {
  if (path.ends_with(".npy")) {
    const MappedFile file = unwrap(map_file(path));
    return unwrap(parse_npy(file.bytes, path));
  }
  const std::map<std::string, HostTensor> tensors = tensors_of(path);
  if (name.empty()) name = tensors.size() == 1 ? tensors.begin()->first : parameter;
  const auto tensor = tensors.find(name);
  if (tensor == tensors.end()) {
    std::vector<std::string_view> names;
    for (const auto& [known, value] : tensors) names.push_back(known);
    throw_user("the file has no such tensor for argument " + parameter, path,
               names.empty() ? "a file with tensors" : join_choices(names), in_quotes(name),
               suggestion(name, names));
  }
  return tensor->second;
}

}  // namespace tapml::app
