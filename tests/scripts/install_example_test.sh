#!/usr/bin/env bash
# Installs a build into a separate folder, builds the examples of embedding and of the compiler's
# library against it, compiles their programs and runs them.
#
# Usage: install_example_test.sh BUILD_FOLDER SOURCE_FOLDER
set -euo pipefail
build=$1 source=$2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -S "$source/examples/embed" -B "$work/example" -G Ninja \
  -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$work/example" >/dev/null
"$work/prefix/bin/tapml" compile "$source/examples/embed/affine.txt" --target cpu \
  -o "$work/affine.tapml" >/dev/null

found=$("$work/example/embed" "$work/affine.tapml")
expected=$'14 25 \n20 31 '
if [[ $found != "$expected" ]]; then
  printf 'the example prints\n%s\nexpected\n%s\n' "$found" "$expected"
  exit 1
fi
"$work/prefix/bin/tapml" compile "$source/examples/embed/values.txt" --target cpu \
  -o "$work/values.tapml" >/dev/null
found=$("$work/example/values" "$work/values.tapml")
expected="5: 1 1 1"
if [[ $found != "$expected" ]]; then
  printf 'the example of values prints\n%s\nexpected\n%s\n' "$found" "$expected"
  exit 1
fi
# A model: the package is moved, and generates the text of `tapml run`.
tapml=$work/prefix/bin/tapml
"$tapml" compile "$source/models/demo" --target cpu --package "$work/made" >/dev/null
mv "$work/made" "$work/shipped"
found=$("$work/example/generate" "$work/shipped" "In the beginning" </dev/null 2>/dev/null)
expected=$("$tapml" run "$source/models/demo" --prompt "In the beginning" --max-tokens 24 2>/dev/null)
if [[ $found != "$expected" || -z $found ]]; then
  printf 'the example of an engine prints\n%s\nand tapml run\n%s\n' "$found" "$expected"
  exit 1
fi
# pkg-config also finds the library.
flags=$(PKG_CONFIG_PATH=$(dirname "$work"/prefix/lib*/pkgconfig/tapml.pc "$work"/prefix/lib/*/pkgconfig/tapml.pc |
                          grep -v '[*]' | head -1) pkg-config --cflags --libs tapml)
# shellcheck disable=SC2086 # flags are words
cc "$source/examples/embed/generate.c" -o "$work/by_pkg_config" $flags
libraries=$(printf '%s\n' $flags | sed -n 's/^-L//p')
found=$(LD_LIBRARY_PATH=$libraries "$work/by_pkg_config" "$work/shipped" "In the beginning" </dev/null 2>/dev/null)
if [[ $found != "$expected" ]]; then
  printf 'built with pkg-config it prints\n%s\nexpected\n%s\n' "$found" "$expected"
  exit 1
fi
# An application must not link the compiler indirectly.
if ldd "$work"/prefix/lib*/libtapml.so* "$work"/prefix/lib/*/libtapml.so* 2>/dev/null | grep LLVM; then
  echo "libtapml depends on LLVM"
  exit 1
fi
if "$work/example/embed" "$source/README.md" 2>"$work/error"; then
  echo "a file that is no executable is accepted"
  exit 1
fi
grep -q "README.md" "$work/error"

# The compiler: the headers that the pages list are installed, and need no others.
headers=$work/prefix/include/tapml/compiler
listed=$(sed -n 's/^| `\([a-z_/]*\.h\)` |.*/\1/p' "$source"/docs/{extend-the-compiler,add-a-platform}.md)
(($(wc -l <<<"$listed") > 20))
for header in $listed; do
  if [[ ! -f $headers/$header ]]; then
    echo "$header is on a page and not installed"
    exit 1
  fi
done
(cd "$headers" && find . -name '*.h' -printf '#include "%P"\n' | sort) >"$work/all_headers.cpp"
c++ -std=c++23 -fsyntax-only -I"$headers" -I"$work/prefix/include" "$work/all_headers.cpp"
cmake -S "$source/examples/compiler" -B "$work/compiler" -G Ninja \
  -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$work/compiler" >/dev/null
found=$("$work/compiler/compiler")
expected='def main(x: Tensor((n, 3), f32), w: Tensor((3, 2), f32)) -> Tensor((n, 2), f32) {
  dataflow {
    square: Tensor((n, 3), f32) = multiply(x, x)
    root: Tensor((n, 3), f32) = sqrt(square)
    product: Tensor((n, 2), f32) = matmul(root, w)
    y: Tensor((n, 2), f32) = relu(product)
    output y
  }
  return y
}

kernel abs
kernel matmul_relu
4 1
10 0'
if [[ $found != "$expected" ]]; then
  printf 'the example of the compiler prints\n%s\nexpected\n%s\n' "$found" "$expected"
  exit 1
fi
# Where only the library is installed, applications find it, and a request for the compiler says that
# it is missing.
cmake --install "$build" --component library --prefix "$work/library" >/dev/null
cmake -S "$source/examples/embed" -B "$work/without" -DCMAKE_PREFIX_PATH="$work/library" >/dev/null
if cmake -S "$source/examples/compiler" -B "$work/missing" -DCMAKE_PREFIX_PATH="$work/library" \
  >"$work/error" 2>&1; then
  echo "the compiler is found where it is not installed"
  exit 1
fi
grep -q "installed without the component compiler" "$work/error"
echo "installed, built and run"
