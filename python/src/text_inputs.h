// Features and embeddings for the texts of a model, as Python gives them.
#pragma once

#include "app/text_inputs.h"
#include "binding.h"

namespace tapml::python {

// None, a file, or an array, which may be a tapml tensor. UserError that names `where`.
app::FeatureOptions features_of(const py::object& given, const char* where);
// None, or a list of pairs of an array or a file, and the position of its first row.
app::EmbeddingOptions embeddings_of(const py::object& given, const char* where);

}  // namespace tapml::python
