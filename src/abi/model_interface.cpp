#include "abi/model_interface.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/strings.h"

namespace tapml {

namespace {

constexpr std::array kRoleNames = {
    "tokens", "positions",  "page_table", "lengths",    "slots",     "features", "feature_lengths",
    "logits", "parameters", "generator",  "embeddings", "placement", "pixels",   "text_lengths"};
static_assert(kRoleNames.size() == kRoles);
constexpr std::array kKindNames = {"paged", "recurrent", "fixed"};
static_assert(kKindNames.size() == kStateKinds);
// The texts of an image, by attribute.
constexpr std::pair<const char*, std::string ImageInput::*> kImageTexts[] = {
    {"model.image.placeholder", &ImageInput::placeholder},
    {"model.image.before", &ImageInput::before},
    {"model.image.after", &ImageInput::after},
    {"model.image.tile", &ImageInput::tile},
    {"model.image.after_row", &ImageInput::after_row},
    {"model.image.after_tiles", &ImageInput::after_tiles}};
constexpr std::string_view kAllState = "state", kWeights = "weights";

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// Takes the text up to and including `end`; nothing if `end` is absent.
std::optional<std::string_view> take_until(std::string_view& text, std::string_view end) {
  const size_t at = text.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view before = trimmed(text.substr(0, at));
  text.remove_prefix(at + end.size());
  return before;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto part = take_until(text, ",");
    if (!part) break;
    parts.push_back(*part);
  }
  if (!trimmed(text).empty() || !parts.empty()) parts.push_back(trimmed(text));
  return parts;
}

template <size_t N>
std::optional<int> index_of(const std::array<const char*, N>& names, std::string_view name) {
  const auto it =
      std::ranges::find(names, name, [](const char* one) { return std::string_view(one); });
  if (it == names.end()) return std::nullopt;
  return static_cast<int>(it - names.begin());
}

std::optional<int64_t> parse_size(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::unexpected<Error> bad_state(std::string_view text) {
  return fail(user_error(
      "a line of model state cannot be parsed", "attribute model.state",
      "NAME: paged|recurrent|fixed DTYPE[SIZE, ...], for paged state optionally window N",
      in_quotes(text)));
}

std::unexpected<Error> bad_function(std::string_view text) {
  std::string roles;
  for (const char* role : kRoleNames) roles += std::string(role) + ", ";
  return fail(user_error("a line of model functions cannot be parsed", "attribute model.functions",
                         "NAME(INPUT, ..., state, weights) -> (OUTPUT, ..., state) with inputs and "
                         "outputs of " +
                             roles + "and paged, recurrent or fixed for one kind of state",
                         in_quotes(text)));
}

// The words for kinds of state: a single word for all of them.
std::vector<std::string> kind_words(const std::vector<StateKind>& kinds) {
  if (kinds.size() == kStateKinds) return {std::string(kAllState)};
  std::vector<std::string> words;
  for (const StateKind kind : kinds) words.emplace_back(state_kind_name(kind));
  return words;
}

// Roles, then state, then weights, as far as the words are in this order.
struct Words {
  std::vector<Role> roles;
  std::vector<StateKind> state;
  bool weights = false;
};

std::optional<Words> read_words(std::string_view text) {
  Words words;
  for (const std::string_view word : split(text)) {
    if (const auto role = index_of(kRoleNames, word)) {
      if (!words.state.empty() || words.weights) return std::nullopt;
      words.roles.push_back(static_cast<Role>(*role));
    } else if (const auto kind = index_of(kKindNames, word)) {
      const auto next = static_cast<StateKind>(*kind);
      if (words.weights || (!words.state.empty() && words.state.back() >= next))
        return std::nullopt;
      words.state.push_back(next);
    } else if (word == kAllState) {
      if (!words.state.empty() || words.weights) return std::nullopt;
      words.state = {StateKind::kPaged, StateKind::kRecurrent, StateKind::kFixed};
    } else if (word == kWeights && !words.weights) {
      words.weights = true;
    } else {
      return std::nullopt;
    }
  }
  return words;
}

}  // namespace

const char* role_name(Role role) { return kRoleNames[static_cast<size_t>(role)]; }
const char* state_kind_name(StateKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

bool ModelFunction::takes(StateKind kind) const {
  return std::ranges::find(state, kind) != state.end();
}

bool ModelFunction::takes(Role input) const {
  return std::ranges::find(inputs, input) != inputs.end();
}

const ModelFunction* ModelInterface::find_function(std::string_view name) const {
  const auto it = std::ranges::find(functions, name, &ModelFunction::name);
  return it == functions.end() ? nullptr : &*it;
}

bool ModelInterface::has_state(StateKind kind) const {
  return std::ranges::find(state, kind, &StateTensor::kind) != state.end();
}

int64_t ModelInterface::paged_window() const {
  int64_t largest = 0;
  for (const StateTensor& one : state) {
    if (one.kind != StateKind::kPaged) continue;
    if (one.window == 0) return 0;
    largest = std::max(largest, one.window);
  }
  return largest;
}

std::string state_text(const StateTensor& state) {
  std::string text = state.name + ": " + state_kind_name(state.kind) + " " +
                     dtype_name(state.dtype) + shape_to_string(state.shape);
  if (state.window > 0) text += " window " + std::to_string(state.window);
  return text;
}

Result<StateTensor> parse_state(std::string_view text) {
  std::string_view rest = text;
  StateTensor state;
  const auto name = take_until(rest, ": ");
  const auto kind = take_until(rest, " ");
  const auto dtype = take_until(rest, "[");
  const auto sizes = take_until(rest, "]");
  if (!name || name->empty() || !kind || !dtype || !sizes) return bad_state(text);
  const auto known_kind = index_of(kKindNames, *kind);
  const auto known_dtype = parse_dtype(*dtype);
  if (!known_kind || !known_dtype) return bad_state(text);
  state.name = *name;
  state.kind = static_cast<StateKind>(*known_kind);
  state.dtype = *known_dtype;
  for (const std::string_view size : split(*sizes)) {
    const auto value = parse_size(size);
    if (!value) return bad_state(text);
    state.shape.push_back(*value);
  }
  constexpr std::string_view kWindow = " window ";
  if (rest.starts_with(kWindow) && state.kind == StateKind::kPaged) {
    const auto window = parse_size(rest.substr(kWindow.size()));
    if (!window || *window == 0) return bad_state(text);
    state.window = *window;
  } else if (!rest.empty()) {
    return bad_state(text);
  }
  return state;
}

std::string model_function_text(const ModelFunction& function) {
  std::vector<std::string> parameters, results;
  for (const Role role : function.inputs) parameters.emplace_back(role_name(role));
  for (const Role role : function.outputs) results.emplace_back(role_name(role));
  for (const std::string& word : kind_words(function.state)) {
    parameters.push_back(word);
    results.push_back(word);
  }
  if (function.weights) parameters.emplace_back(kWeights);
  return function.name + "(" + join(parameters) + ") -> (" + join(results) + ")";
}

Result<ModelFunction> parse_model_function(std::string_view text) {
  std::string_view rest = text;
  const auto name = take_until(rest, "(");
  const auto parameters = take_until(rest, ")");
  const auto arrow = take_until(rest, "(");
  const auto results = take_until(rest, ")");
  if (!name || name->empty() || !parameters || !arrow || *arrow != "->" || !results ||
      !rest.empty()) {
    return bad_function(text);
  }
  std::optional<Words> taken = read_words(*parameters), given = read_words(*results);
  if (!taken || !given || given->weights || given->state != taken->state) return bad_function(text);
  return ModelFunction{std::string(*name), std::move(taken->roles), std::move(given->roles),
                       std::move(taken->state), taken->weights};
}

AttrMap model_interface_attrs(const ModelInterface& model) {
  std::vector<std::string> state, functions;
  for (const StateTensor& one : model.state) state.push_back(state_text(one));
  for (const ModelFunction& one : model.functions) functions.push_back(model_function_text(one));
  AttrMap attrs = {{"model.architecture", model.architecture},
                   {"model.vocabulary", model.vocabulary},
                   {"model.context", model.context},
                   {"model.page_size", model.page_size},
                   {"model.state", state},
                   {"model.functions", functions},
                   {"model.weights", model.weights}};
  if (model.short_text > 0) attrs["model.short_text"] = model.short_text;
  if (model.image) {
    attrs["model.image.token"] = static_cast<int64_t>(model.image->token);
    attrs["model.image.rows"] = model.image->rows;
    for (const auto& [name, text] : kImageTexts) attrs[name] = model.image.value().*text;
  }
  return attrs;
}

Result<ModelInterface> model_interface_of(const AttrMap& attrs) {
  ModelInterface model;
  model.architecture = attr_or<std::string>(attrs, "model.architecture", "");
  model.vocabulary = attr_or<int64_t>(attrs, "model.vocabulary", 0);
  model.context = attr_or<int64_t>(attrs, "model.context", 0);
  model.page_size = attr_or<int64_t>(attrs, "model.page_size", model.page_size);
  model.short_text = attr_or<int64_t>(attrs, "model.short_text", 0);
  for (const std::string& text : attr_or<std::vector<std::string>>(attrs, "model.state", {})) {
    TAPML_ASSIGN(StateTensor state, parse_state(text));
    model.state.push_back(std::move(state));
  }
  for (const std::string& text : attr_or<std::vector<std::string>>(attrs, "model.functions", {})) {
    TAPML_ASSIGN(ModelFunction function, parse_model_function(text));
    model.functions.push_back(std::move(function));
  }
  model.weights = attr_or<std::vector<std::string>>(attrs, "model.weights", {});
  if (attrs.contains("model.image.token")) {
    ImageInput& image = model.image.emplace();
    image.token = static_cast<int32_t>(attr_or<int64_t>(attrs, "model.image.token", 0));
    image.rows = attr_or<int64_t>(attrs, "model.image.rows", 0);
    for (const auto& [name, text] : kImageTexts) {
      image.*text = attr_or<std::string>(attrs, name, "");
    }
  }
  return model;
}

}  // namespace tapml
