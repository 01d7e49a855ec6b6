// Why an operator call failed, where operands do not fit each other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "interp/item.h"
#include "relax/expr.h"

namespace tapml::interp {

// Holds `item` to `expected` at `place`; UserError where it does not fit.
using CheckItem = std::function<void(const relax::Annotation& expected, const Item& item,
                                     const std::string& place)>;

// Compares the operands of `node`, an operator call in `binding` of `function`, where their
// annotations have shapes that may not fit each other, in the words of the checks that are made
// before a compiled call. Throws the first complaint; returns where there is none.
void check_operands(const relax::CallNode& node, const std::vector<Item>& args,
                    const relax::Binding& binding, const std::string& function,
                    const Symbols& symbols, const CheckItem& check);

}  // namespace tapml::interp
