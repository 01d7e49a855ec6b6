#include "frontend/quantized/layer_tensors.h"

#include <algorithm>

#include "base/strings.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

// As safetensors has it.
std::string spelling(DType dtype) {
  std::string name = dtype_name(dtype);
  for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

}  // namespace

bool LayerTensors::has(std::string_view suffix) const {
  return files_.tensors.contains(name(suffix)) || files_.unknown_dtypes.contains(name(suffix));
}

std::string LayerTensors::file(const std::string& name) const {
  const auto known = files_.file_of.find(name);
  return known == files_.file_of.end() ? files_.folder : known->second;
}

void LayerTensors::refuse(std::string_view suffix, const std::string& problem,
                          const std::string& expected, const std::string& found,
                          const std::string& hint) const {
  throw_user("tensor " + in_quotes(name(suffix)) + " " + problem, file(name(suffix)), expected,
             found, hint);
}

StoredTensor LayerTensors::take(std::string_view suffix,
                                std::initializer_list<std::string_view> dtypes) {
  const std::string full = name(suffix);
  const auto known = files_.tensors.find(full);
  const auto other = files_.unknown_dtypes.find(full);
  StoredTensor stored;
  if (known != files_.tensors.end()) {
    stored = {known->second, spelling(known->second.dtype())};
  } else if (other != files_.unknown_dtypes.end()) {
    stored.dtype = other->second;
  } else {
    refuse(suffix, "is missing", "the tensors of a quantized layer", "no such tensor",
           "check that config.json belongs to these weights; download them again");
  }
  const auto matches = [&](std::string_view one) {
    return one == "F8" ? stored.is_float8() : one == stored.dtype;
  };
  const auto bytes = files_.bytes.find(full);
  if (bytes != files_.bytes.end()) stored.tensor = bytes->second;
  const bool is_readable = known != files_.tensors.end() || bytes != files_.bytes.end();
  if (!is_readable || std::ranges::none_of(dtypes, matches)) {
    refuse(suffix, "has a dtype that its method of quantization does not have",
           join(dtypes,
                [](std::string_view one) {
                  return one == "F8" ? std::string("F8_E4M3 or F8_E5M2") : std::string(one);
                }),
           stored.dtype);
  }
  taken_.push_back(full);
  return stored;
}

StoredTensor LayerTensors::take(std::string_view suffix,
                                std::initializer_list<std::string_view> dtypes,
                                const Shape& shape) {
  StoredTensor stored = take(suffix, dtypes);
  if (stored.tensor.shape() != shape) {
    refuse(suffix, "has another shape than its layer's other tensors imply", shape_to_string(shape),
           shape_to_string(stored.tensor.shape()));
  }
  return stored;
}

void LayerTensors::skip(std::string_view suffix) {
  if (has(suffix)) taken_.push_back(name(suffix));
}

}  // namespace tapml::frontend
