// Explains why an operator call failed if its operands do not fit each other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "interp/item.h"
#include "relax/expr.h"

namespace tapml::interp {

// Checks `item` against `expected` at `place`; UserError if it does not fit.
using CheckItem = std::function<void(const relax::Annotation& expected, const Item& item,
                                     const std::string& place)>;

// Compares the operands of `node`, an operator call in `binding` of `function`, if the shapes in
// their annotations may not fit each other. The messages are those of the checks before a compiled
// call. Throws the first error; returns if there is none.
void check_operands(const relax::CallNode& node, const std::vector<Item>& args,
                    const relax::Binding& binding, const std::string& function,
                    const Symbols& symbols, const CheckItem& check);

}  // namespace tapml::interp
