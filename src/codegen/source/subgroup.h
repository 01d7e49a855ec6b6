// Subgroup operations (tir/subgroup.h) in a C-like language: native ones, or an exchange through
// local memory.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "codegen/lower/device_func.h"
#include "codegen/source/dialect.h"
#include "codegen/source/operations.h"

namespace tapml::codegen {

// Width of the subgroups that a function is written for; 0 if it has no such operation. UserError
// if its operations have several widths.
int64_t subgroup_width(const DeviceFunc& function);

class SubgroupEmitter {
 public:
  using Unique = std::function<std::string(const std::string& hint)>;
  // Emits nothing unless the function has such operations.
  SubgroupEmitter(const DeviceFunc& function, const Dialect& dialect, const Operations& operations,
                  const Unique& unique);

  int64_t width() const { return width_; }
  // Local memory for the exchange: an array for each dtype, with one element a thread.
  const std::vector<std::string>& declarations() const { return declarations_; }
  // Statements for target = call; `value`, `target` and `thread` are text without side effects.
  std::vector<std::string> lines(const tir::StoreNode& store, const std::string& value,
                                 const std::string& target, const std::string& thread) const;

 private:
  std::vector<std::string> exchange(const tir::SubgroupCall& call, const std::string& value,
                                    const std::string& target, const std::string& thread) const;

  const Dialect& dialect_;
  const Operations& operations_;
  DType index_;
  int64_t width_ = 0;
  std::string counter_, joined_;  // names of the exchange's variables
  std::map<DType, std::string> scratch_;
  std::vector<std::string> declarations_;
};

}  // namespace tapml::codegen
