#include "text_inputs.h"

#include <optional>

#include "host_array.h"
#include "ir/exceptions.h"
#include "path.h"

namespace tapml::python {

namespace {

bool is_file(const py::object& given) {
  return py::isinstance<py::str>(given) || py::hasattr(given, "__fspath__");
}

HostTensor array_of(const py::object& given, const char* where) {
  return as_tensor(take_array(given, std::nullopt, where).array);
}

[[noreturn]] void refuse_embeddings(const py::object& given, const char* where) {
  throw_user("these are no embeddings with positions", where,
             "a list of pairs (array or file, position of the first row)",
             py::str(py::type::of(given).attr("__name__")).cast<std::string>());
}

}  // namespace

app::FeatureOptions features_of(const py::object& given, const char* where) {
  if (given.is_none()) return {};
  if (is_file(given)) return {given.cast<Path>(), {}};
  return {"", array_of(given, where)};
}

app::EmbeddingOptions embeddings_of(const py::object& given, const char* where) {
  app::EmbeddingOptions options;
  if (given.is_none()) return options;
  if (!py::isinstance<py::list>(given) && !py::isinstance<py::tuple>(given)) {
    refuse_embeddings(given, where);
  }
  for (const py::handle one : given) {
    const auto pair = py::reinterpret_borrow<py::object>(one);
    if (!py::isinstance<py::tuple>(pair) || py::len(pair) != 2 ||
        !py::hasattr(pair[py::int_(1)], "__index__")) {
      refuse_embeddings(pair, where);
    }
    const py::object rows = pair[py::int_(0)];
    const auto position = pair[py::int_(1)].cast<int64_t>();
    if (is_file(rows)) {
      const std::string file = rows.cast<Path>();
      options.files.push_back(file + "@" + std::to_string(position));
    } else {
      options.tensors.push_back({array_of(rows, where), position});
    }
  }
  return options;
}

}  // namespace tapml::python
