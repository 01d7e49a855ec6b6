#include "topdown/reference_run/tolerance.h"

#include <algorithm>

#include "io/host/files.h"
#include "io/json_reader.h"
#include "ir/exceptions.h"
#include "topdown/suite/kernel_names.h"

namespace tapml::topdown {

namespace {

Result<Tolerance> read_tolerance(const JsonObjectReader& reader) {
  constexpr std::string_view kKnown[] = {"kernel", "factor", "absolute", "reason"};
  Tolerance tolerance;
  TAPML_ASSIGN(tolerance.kernel, reader.required_string("kernel"));
  if (tolerance.kernel.empty()) {
    return fail(reader.field_error("kernel", "is empty",
                                   "a kernel's name, its beginning, or a pattern with * and ?"));
  }
  TAPML_ASSIGN(tolerance.factor, reader.float_or("factor", 1, 0));
  TAPML_ASSIGN(tolerance.absolute, reader.float_or("absolute", 0, 0));
  if (!reader.has("factor") && !reader.has("absolute")) {
    return fail(reader.item_error(reader.json(), "", "changes nothing",
                                  "a \"factor\" of the bound, or an \"absolute\" error"));
  }
  TAPML_ASSIGN(tolerance.reason, reader.required_string("reason"));
  if (tolerance.reason.find_first_not_of(" \t\r\n") == std::string::npos) {
    return fail(reader.field_error("reason", "is empty", "why the bound does not apply"));
  }
  for (const std::string& key : reader.unknown_keys(kKnown)) {
    return fail(reader.field_error(key, "is unknown", "kernel, factor, absolute, reason"));
  }
  return tolerance;
}

}  // namespace

Tolerances Tolerances::parse(std::string_view text, const std::string& file) {
  const Json json = unwrap(parse_json(text, file));
  const JsonObjectReader top(json, file);
  Tolerances result;
  size_t index = 0;
  for (const Json& item : *unwrap(top.required_array("tolerances"))) {
    const std::string path = "tolerances[" + std::to_string(index++) + "]";
    result.items_.push_back(unwrap(read_tolerance(JsonObjectReader(item, file, path))));
  }
  return result;
}

Tolerances Tolerances::load(const std::string& file) {
  return parse(unwrap(read_text_file(file)), file);
}

const Tolerance* Tolerances::find(const std::string& kernel) const {
  const auto found = std::ranges::find_if(
      items_, [&](const Tolerance& one) { return means_kernel(one.kernel, kernel); });
  return found == items_.end() ? nullptr : &*found;
}

std::vector<Tolerance> Tolerances::unused(const std::set<std::string>& kernels) const {
  std::vector<Tolerance> result;
  for (const Tolerance& one : items_) {
    if (std::ranges::none_of(kernels,
                             [&](const std::string& name) { return find(name) == &one; })) {
      result.push_back(one);
    }
  }
  return result;
}

std::vector<std::string> Tolerances::unused_texts(const std::set<std::string>& kernels) const {
  std::vector<std::string> texts;
  for (const Tolerance& one : unused(kernels)) {
    const std::string near = kernel_suggestion(one.kernel, {kernels.begin(), kernels.end()});
    texts.push_back("the tolerance of \"" + one.kernel + "\" applies to no kernel (" + one.reason +
                    ")" + (near.empty() ? "" : "; " + near));
  }
  return texts;
}

std::string Tolerances::text() const {
  std::vector<Json> items;
  for (const Tolerance& one : items_) {
    items.push_back(Json::array({Json::string(one.kernel), Json::number(one.factor),
                                 Json::number(one.absolute), Json::string(one.reason)}));
  }
  return items.empty() ? "" : Json::array(std::move(items)).dump();
}

}  // namespace tapml::topdown
