// Paths from Python: a str, or an object that os.fspath accepts.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace tapml::python {

// The type of a parameter that accepts either.
struct Path : std::string {
  using std::string::string;
};

}  // namespace tapml::python

template <>
struct pybind11::detail::type_caster<tapml::python::Path> {
  PYBIND11_TYPE_CASTER(tapml::python::Path, const_name("Union[str, os.PathLike[str]]"));

  bool load(handle source, bool /*convert*/) {
    object path = reinterpret_steal<object>(PyOS_FSPath(source.ptr()));
    if (!path) PyErr_Clear();
    if (!path || !isinstance<str>(path)) return false;
    value.assign(path.cast<std::string>());
    return true;
  }
};
