#include "cli/phases.h"

namespace tapml::cli {

Json phases_json(const std::vector<pipeline::PassNumbers>& passes,
                 const std::map<std::string, int64_t>& values) {
  std::vector<std::pair<std::string, Json>> given;
  for (const auto& [name, value] : values) given.emplace_back(name, Json::integer(value));
  std::vector<Json> list;
  for (const pipeline::PassNumbers& pass : passes) {
    std::vector<std::pair<std::string, Json>> functions;
    for (const auto& [name, numbers] : pass.functions) {
      functions.emplace_back(
          name,
          Json::object({{"bindings", Json::integer(numbers.bindings)},
                        {"calls", Json::integer(numbers.calls)},
                        {"bytes", numbers.bytes ? Json::integer(*numbers.bytes) : Json::null()}}));
    }
    list.push_back(Json::object({{"pass", Json::string(pass.pass)},
                                 {"kernels", Json::integer(pass.kernels)},
                                 {"programs", Json::integer(pass.programs)},
                                 {"functions", Json::object(std::move(functions))}}));
  }
  return Json::object(
      {{"values", Json::object(std::move(given))}, {"passes", Json::array(std::move(list))}});
}

}  // namespace tapml::cli
