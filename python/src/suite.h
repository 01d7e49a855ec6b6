// Carved tests held by Python.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "binding.h"
#include "topdown/suite/suite.h"

namespace tapml::python {

struct CarvedSuite {
  std::shared_ptr<const topdown::Suite> suite;
  std::string folder;  // the folder it was read from; empty for a new one
};

// Its tests, in Python's form.
py::tuple calls_of(const CarvedSuite& suite);
py::tuple groups_of(const CarvedSuite& suite);
// Sorted.
py::tuple text_tuple(const std::set<std::string>& texts);

}  // namespace tapml::python
