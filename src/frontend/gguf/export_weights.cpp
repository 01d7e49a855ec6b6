#include "frontend/gguf/export_weights.h"

#include <algorithm>
#include <numbers>
#include <optional>

#include "base/strings.h"
#include "frontend/gguf/row_order.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

using models::WeightSpec;

// "model.layers.{}.mlp.up_proj", "3" and ".weight" of a published name.
struct PublishedName {
  std::string pattern, layer, suffix;
};

PublishedName split_published(const std::string& name) {
  PublishedName parts{.pattern = name, .layer = {}, .suffix = {}};
  for (const std::string suffix : {".weight", ".bias"}) {
    if (!name.ends_with(suffix)) continue;
    parts.suffix = suffix;
    parts.pattern.resize(name.size() - suffix.size());
  }
  size_t begin = 0;
  while (begin < parts.pattern.size()) {
    const size_t end = std::min(parts.pattern.find('.', begin), parts.pattern.size());
    const std::string_view part = std::string_view(parts.pattern).substr(begin, end - begin);
    if (!part.empty() && part.find_first_not_of("0123456789") == part.npos) {
      parts.layer = part;
      parts.pattern.replace(begin, end - begin, "{}");
      break;
    }
    begin = end + 1;
  }
  return parts;
}

// A published weight, of one matrix or several.
struct Published {
  std::vector<HostTensor> parts;
  int64_t columns = 1;  // of a published row
  int64_t part_rows = 1;

  float at(int64_t row, int64_t column) const {
    const HostTensor& part = parts[static_cast<size_t>(row / part_rows)];
    return number(part, row % part_rows * columns + column);
  }

  void read(int64_t row, std::span<float> to) const {
    const HostTensor& part = parts[static_cast<size_t>(row / part_rows)];
    const int64_t first = row % part_rows * columns;
    for (size_t i = 0; i < to.size(); ++i) to[i] = number(part, first + static_cast<int64_t>(i));
  }

 private:
  static float number(const HostTensor& part, int64_t index) {
    const auto at = static_cast<size_t>(index);
    switch (part.dtype()) {
      case DType::kF32:
        return part.values<float>()[at];
      case DType::kBF16:
        return bf16_to_f32(part.values<uint16_t>()[at]);
      default:
        return f16_to_f32(part.values<uint16_t>()[at]);
    }
  }
};

Published load(const WeightFiles& files, const WeightSpec& spec) {
  LoadedWeights loaded = load_weights(files, {spec});
  const SourceWeight& source = loaded.sources.at(spec.name);
  Published weight;
  if (source.blocks) {
    weight.parts = {source.blocks->expanded()};
  } else {
    weight.parts = source.parts;
  }
  // A quantized matrix has its inputs last, where others of the class have them first.
  if (source.blocks && spec.transposed && weight.parts[0].shape() != spec.shape) {
    throw_user("weight " + in_quotes(spec.name) + " is quantized and transposed", files.folder,
               "f32, f16 or bf16", source.blocks->type);
  }
  const Shape& shape = weight.parts[0].shape();
  weight.columns = shape.empty() ? 1 : shape.back();
  weight.part_rows =
      std::max<int64_t>(weight.parts[0].size() / std::max<int64_t>(weight.columns, 1), 1);
  return weight;
}

// Where the rows of a file are published.
std::vector<int64_t> published_rows(const RowOrder& order, int64_t rows) {
  std::vector<int64_t> published(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    published[static_cast<size_t>(order.stored(row))] = row;
  }
  return published;
}

class TensorPlanner {
 public:
  TensorPlanner(const GgufArchitecture& architecture, const PublishedDecoder& model,
                std::shared_ptr<const WeightFiles> files)
      : architecture_(architecture), model_(model), files_(std::move(files)) {}

  GgufExportTensor plan(const WeightSpec& spec) const {
    const PublishedName published = split_published(spec.name);
    const GgufName* rule = find_published_name(architecture_, published.pattern);
    if (!rule) {
      throw_user("weight " + in_quotes(spec.name) + " has no name in GGUF files of " +
                     in_quotes(architecture_.name),
                 files_->folder, "weights that llama.cpp knows", in_quotes(spec.name));
    }
    std::string name(rule->stored);
    if (const size_t at = name.find("{}"); at != name.npos) name.replace(at, 2, published.layer);
    name += published.suffix;
    return {std::move(name), stored_shape(*rule, spec), opener(*rule, published, spec)};
  }

 private:
  static bool is_transposed(const GgufName& rule, const WeightSpec& spec) {
    return rule.change == GgufChange::kTransposed && spec.shape.size() == 2;
  }

  static Shape stored_shape(const GgufName& rule, const WeightSpec& spec) {
    Shape shape = spec.shape;
    if (is_transposed(rule, spec)) std::swap(shape[0], shape[1]);
    if (rule.change == GgufChange::kRow && shape.size() == 2) shape.erase(shape.begin());
    if (rule.change == GgufChange::kTaps && shape.size() == 3) shape.erase(shape.begin() + 1);
    return shape;
  }

  std::optional<RowOrder> order_of(const GgufName& rule, const WeightSpec& spec) const {
    const bool is_by_part = rule.change == GgufChange::kByPart;
    if (!is_by_part && rule.change != GgufChange::kPairedQueries &&
        rule.change != GgufChange::kPairedKeys) {
      return std::nullopt;
    }
    const int64_t heads =
        rule.change == GgufChange::kPairedKeys ? model_.fields.kv_heads : model_.fields.heads;
    return RowOrder{rule.change, heads, spec.shape.at(0) / (heads * (is_by_part ? 3 : 1))};
  }

  std::function<GgufRows()> opener(const GgufName& rule, const PublishedName& published,
                                   const WeightSpec& spec) const {
    const bool plus_one = rule.change == GgufChange::kPlusOne && published.suffix == ".weight";
    const std::optional<RowOrder> order = order_of(rule, spec);
    return [files = files_, spec, plus_one, order, transposed = is_transposed(rule, spec)] {
      auto weight = std::make_shared<const Published>(load(*files, spec));
      if (transposed) {
        return GgufRows([weight](int64_t row, std::span<float> to) {
          for (size_t i = 0; i < to.size(); ++i) to[i] = weight->at(static_cast<int64_t>(i), row);
        });
      }
      if (order && spec.shape.size() == 1) {  // a bias: elements in place of rows
        return GgufRows(
            [weight, rows = published_rows(*order, spec.shape[0])](int64_t, std::span<float> to) {
              for (size_t i = 0; i < to.size(); ++i) to[i] = weight->at(0, rows[i]);
            });
      }
      std::vector<int64_t> rows;
      if (order) rows = published_rows(*order, spec.shape[0]);
      return GgufRows([weight, plus_one, rows = std::move(rows)](int64_t row, std::span<float> to) {
        weight->read(rows.empty() ? row : rows[static_cast<size_t>(row)], to);
        if (!plus_one) return;
        for (float& value : to) value += 1;
      });
    };
  }

  const GgufArchitecture& architecture_;
  const PublishedDecoder& model_;
  std::shared_ptr<const WeightFiles> files_;
};

GgufExportTensor table(std::string name, std::vector<float> values) {
  const Shape shape = {std::ssize(values)};
  return {std::move(name), shape, [values = std::move(values)] {
            return GgufRows(
                [values](int64_t, std::span<float> to) { std::ranges::copy(values, to.begin()); });
          }};
}

// What the frequency of each pair is divided by.
std::vector<float> llama3_factors(const PublishedDecoder& model) {
  models::RopeConfig plain = model.fields.rope;
  plain.scaling = models::RopeConfig::Scaling::kNone;
  const std::vector<float> before = models::rope_frequencies(plain, model.fields.head_dim);
  std::vector<float> factors = models::rope_frequencies(model.fields.rope, model.fields.head_dim);
  for (size_t i = 0; i < factors.size(); ++i) factors[i] = before[i] / factors[i];
  return factors;
}

void add_factors(const PublishedDecoder& model, std::vector<GgufExportTensor>& tensors) {
  using Scaling = models::RopeConfig::Scaling;
  const Scaling scaling = model.fields.rope.scaling;
  if (scaling == Scaling::kLlama3) {
    tensors.push_back(table("rope_freqs.weight", llama3_factors(model)));
  }
  if (scaling != Scaling::kLongRope) return;
  const JsonObjectReader json = model.reader();
  const JsonObjectReader fields = *models::rope_fields(json);
  for (const std::string part : {"long", "short"}) {
    std::vector<float> values;
    for (const double value : models::read_numbers(fields, (part + "_factor").c_str(), 1e-3, 1e6)) {
      values.push_back(static_cast<float>(value));
    }
    tensors.push_back(table("rope_factors_" + part + ".weight", std::move(values)));
  }
}

}  // namespace

std::vector<GgufExportTensor> gguf_export_tensors(const GgufArchitecture& architecture,
                                                  const PublishedDecoder& model,
                                                  std::shared_ptr<const WeightFiles> files) {
  std::vector<GgufExportTensor> tensors;
  add_factors(model, tensors);
  const TensorPlanner planner(architecture, model, std::move(files));
  for (const WeightSpec& spec : model.config.weights()) tensors.push_back(planner.plan(spec));
  return tensors;
}

}  // namespace tapml::frontend
