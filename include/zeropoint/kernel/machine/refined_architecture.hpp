// Which tag of the library's own says more than the one that xsimd has chosen.
#pragma once

namespace zp {
inline namespace v0 {

/// The architecture itself, unless it has a tag in arm_architectures.hpp or wasm_architecture.hpp.
template <class Arch> struct refined_architecture { using type = Arch; };

}  // namespace v0
}  // namespace zp
