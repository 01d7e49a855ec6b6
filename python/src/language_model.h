// Language models: a folder's module, weights and tokenizer.
#pragma once

#include <memory>
#include <string>
#include <tuple>

#include "app/model.h"
#include "binding.h"
#include "llm/sampler.h"

namespace tapml::python {

struct LanguageModel {
  std::string folder;
  app::ModelFormat format;
  app::TextInputOptions inputs;
  std::shared_ptr<const app::LoadedModel> loaded;

  bool is_encoder() const;
};

// Accepts a LanguageModel, the folder of one, or an executable.
LanguageModel language_model_of(const py::object& model, const char* where);

// temperature, top_p, top_k, seed
using SamplerTuple = std::tuple<double, double, int64_t, uint64_t>;
// UserError for values out of range.
llm::SamplerOptions sampler_of(const SamplerTuple& values);

}  // namespace tapml::python
