// The tile kernels of the architecture that this file is compiled for, for audit.py to read their instructions.
#include <zeropoint/kernel/gemm.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

using audited = default_architecture;
template <class Format>
using tile_function = void (*)(const typename Format::activation*, const std::int32_t*, const window_runs&,
                               const typename Format::weight*, const std::int32_t*, std::int32_t*) noexcept;

/// Whole tiles of what the architecture multiplies most by.
extern const tile_function<word_pairs> audited_words;
const tile_function<word_pairs> audited_words = &multiply_tile<audited, word_pairs, operations<audited>::tile_rows>;
template <class Arch> constexpr tile_function<byte_quads> quads_of() {
    if constexpr (has_quads<Arch>) return &multiply_tile<Arch, byte_quads, operations<Arch>::tile_rows>;
    else return nullptr;
}
extern const tile_function<byte_quads> audited_quads;
const tile_function<byte_quads> audited_quads = quads_of<audited>();

}  // namespace kernel
}  // namespace v0
}  // namespace zp
