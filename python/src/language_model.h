// Language models: a folder's module, weights and tokenizer.
#pragma once

#include <memory>
#include <string>

#include "app/model.h"
#include "binding.h"

namespace tapml::python {

struct LanguageModel {
  std::string folder, quantize;
  std::shared_ptr<const app::LoadedModel> loaded;
};

// A LanguageModel, or the folder of one or an executable.
LanguageModel language_model_of(const py::object& model, const char* where);

}  // namespace tapml::python
