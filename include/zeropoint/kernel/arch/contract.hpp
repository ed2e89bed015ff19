// SPDX-License-Identifier: BSD-3-Clause
// What every architecture supplies to the loops of the integer kernels: in words, and as what a compiler checks.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

// An architecture is a struct of constants, types and static functions, in a file of its own here. portable.hpp is one in
// plain C++, which defines what each function means; vector_operations.hpp is one over xsimd batches of any width, from
// which the others derive, to replace what they have better instructions for: mostly the dot products.
//
// Constants
//   name                          of the primitives, in descriptions
//   tile_rows, vectors, lanes     a tile is tile_rows x (vectors * lanes) int32 accumulators, all held in registers.
//                                 vectors is 1, 2 or 4, of which xsimd batches need 2 or 4; tile_rows at most 16
//   sums_in_flight                so many sums that a dot product can be added to one of them in every cycle
//   has_batches                   whether int32 is an xsimd batch, so that epilogues can be applied to vectors
//   quads                         what dot4 is, see below
//   has_byte_lookup               whether there is shuffle16, for tables of 256 bytes
//   byte_products, word_products  how many a nanosecond whole tiles reach, of weights in bytes and of int16 operands:
//                                 measured once, for conv2d_choice.hpp to compare algorithms by
//   winograd                      optional: what Winograd's transforms take, where that was measured, see below
//   transforms_filters_ahead      optional: whether Winograd's filters are transformed between the products of others
//                                 (winograd/winograd.hpp)
//
// The matrix product (gemm.hpp, small_linear.hpp)
//   broadcast(from)               the next depth pair (quad) of one activation row, for all lanes; of any type that dot2
//                                 (dot4) takes as its `a`
//   dot2(sums, a, b)              sums[lane] += a[0] * b[2 * lane] + a[1] * b[2 * lane + 1], modulo 2^32; where `a` is a
//                                 vector, a[2 * lane] and a[2 * lane + 1] take the place of a[0] and a[1]
//   dot4(sums, a, b)              the same of four bytes; not where quads is none; optionally also with `b` where it lies,
//                                 which the tallest tiles take where registers are too few for weights
//   add(sums, more)               sums[lane] += more[lane], or one number, modulo 2^32
//   dot4_flipped(sums, a, flips, b)  dot4 of weights whose bits are flipped where `flips` are 0xff, not 0; `b` is a vector or
//                                 where it lies; only where quads is saturating_pairs
//   takes_quads(panel, count)     optional: whether a panel of `count` quads is multiplied exactly; others become pairs
//   dot2_in_place(sums, a, b)     dot2 that stays where it is among others
//   pair_sums, add_pair_sums      int16 sums of the two pairs of a quad, add_widened brings them into int32 sums; only
//                                 where quads is saturating_pairs
//   multiply_block                optional: see below
//   most_flipped_rows             optional: of how many rows a tile of signed quads is at most
//   fetches_in_tiles              optional: whether tiles fetch the weights of the next panel while they multiply, and not
//                                 the loop around them
//   fetching_steps                optional: steps between which tiles of many rows fetch a share each of the next panel, where they
//                                 fetch in each step otherwise
//   band_bytes                    optional: bytes that a band of activations should stay within (gemm/bands.hpp)
//   whole_tile_rows               optional: see whole tiles, below
//   finishes_in_registers         optional: whether whole tiles of quads, where those saturate of signed quads and pairs too, become
//                                 codes before their sums leave the registers; of two vectors, and an even number of rows
//   nibble_rows                   optional: rows of the tiles that multiply many rows by 4-bit weights (dynamic/nibble_tiles.hpp); only
//                                 where quads is exact and xsimd::fma rounds once
//   nibble_rows_in_registers      asked for where nibble_rows is: of how many of those rows the sums of floats are in registers, too
//   narrow_step_units             optional: up to so many units a float step of a recurrent layer takes vectors of half the width
//                                 (operators/recurrent_steps.hpp); at most those of a vector
//   rows_of_two_panels            optional: the most rows that are multiplied by two panels of quads at once (gemm/two_panels.hpp)
//   paired_rows                   optional: rows of the tiles that multiply any number of rows by two panels of quads at once
//   addresses_in_memory           optional, no instruction: in the loop of the tallest tiles, so that no address is in a vector's register
//   fence, memory_fence, keep     no instruction: an order that keeps a compiler from spilling accumulators
//
// Epilogues (epilogue/apply_epilogue.hpp, requantize.hpp), where has_batches
//   load_first(from, count)       a vector of int32 or float, of which the first `count` values exist, the others zero
//   load_halves(from)             as many positive float16 numbers as an int32 vector has lanes, as floats
//   pack(v[4], offset)            v + offset of four vectors as unsigned bytes; int16 in between, all saturating
//   store_halves(low, high, v)    the lower and the upper half of a vector of bytes to two places
//   pack_pairs(v[4], offset), store_pairs(low, high, bytes)  the same in an order of the architecture's own between them: v[0] and
//                                 v[1] go to `low`, the others to `high`
//   store_first_of_quarters(to, pitch, v, count)  optional: the first `count` bytes of each quarter of a vector, `pitch` bytes apart
//   load_lanes(from)              as many 8-bit codes as an int32 vector has lanes, widened
//   store_words(to, low, high)    optional: two vectors of numbers that int16 holds, as such
//   multiply_wide(a, b, high, low)  the 64-bit products of int32 and of factors in [0, 2^31), as two halves
//
// Staging (gemm/bands.hpp, depthwise/cell_ring.hpp)
//   interleave_words(a, b, to)    optional: of panel_width words each, a[0], b[0], a[1], b[1], ...
//   quarters, load_parts(from), stack_rows(rows, quads), transpose_quarters(v), pack_in_quarters(v, offset), store_parts(to, v)  optional,
//                                 where quads is exact: see depthwise/column_quads.hpp. Vectors of 64 bytes from 1, 2 or 4 places; the
//                                 quads of four rows, in the order that unpacking within 16 bytes gives; four vectors brought into that order;
//                                 pack() of sums in it, and its bytes to 1, 2 or 4 places
//   widen, load_widened, interleave, gather, and where quads is saturating_pairs
//   split_signs, sum_flipped      signed codes as magnitudes and flips, and the sums of flipped magnitudes
//
// Tables (lookup_table.hpp), where has_byte_lookup
//   broadcast16(from)             a table of 16 bytes, once in each 16 bytes of a vector
//   shuffle16(table, index)       table[index] in each 16 bytes, for indices below 16
//   look_up_near(rows, places), store_low_bytes(to, v)  optional, together: entries of a near table (epilogue/near_table.hpp) at places
//                                 below 1024, in the lowest bytes of lanes, and those bytes stored
//   look_up_fine(table, places)   optional: of four vectors of places below 1024, entries of a table of so many bytes, in the order of
//                                 the vectors
//   look_up_places(table, places, to)  optional: 16 bytes of a table at places in memory, as one store
//   shift_left<Bits>(v)           bits 7 of bytes shifted left by up to 3; the other bits are undefined
//   select_by_sign(s, a, b)       a where bit 7 of a byte of s is set, else b
//
// Words of gates (recurrent/word_functions.hpp, byte_cell.hpp) and of codes (elementwise/elementwise_int16.hpp), where has_batches;
// vector_operations.hpp has all of them in 32-bit arithmetic, of which widen_words, pair_words, multiply_words and pack_words are
// replaced together, and so are the wide sums
//   word_part                     how the words of a vector lie in two of int32: words 2 * p * word_part and on, as many as that, in
//                                 the first, the next as many in the second, for each p
//   widen_words(a, first, second)        the words of a vector so
//   pair_words(a, b, first, second)      the words of two, as pairs in place of the first's numbers: what dot2 takes
//   multiply_words(a, b, first, second)  and the products of two
//   pack_words(first, second)     the inverse of the first, saturating
//   multiply_q15(a, b)            (a * b + 2^14) >> 15 of words, not both -2^15
//   with_sign(size, of)           size, or -size where `of` is negative; where `of` is 0, so is size
//   load_word_table(from), word_places(index), look_up_words(table, places)  from[index] of a table of eight words, for indices below 8
//   takes_wide_places             whether look_up_words takes indices below 32 of a table of 32 words
//   store_codes(to, words)        words as int8, saturating
//   has_masks                     whether there are load_words, load_word_lanes, store_words, store_first_words, store_codes and
//                                 store_first_codes of the first `count` values too
//   load_word_lanes(from)         as many words as an int32 vector has lanes, widened; widen_lanes(from, to) so many codes as words
//   store_first_words(to, words), store_first_codes(to, words)  of words those that widen_words has in its first vector, in order
//   wide_sums, load_wide(from), add_scaled(sums, x, multipliers), shift_wide(sums, shift)  sums of 64 bits, as many as lanes; what is
//                                 in memory; plus x[lane] * multipliers[lane], of multipliers in [0, 2^31); and the lower 32 bits of
//                                 sums >> shift, of 1 to 32
//   multiplier_numbers, put_multiplier(to, lane, value), put_wide(to, lane, value)  how those lie in memory: so many int32 a lane for a
//                                 multiplier, and two for a sum
//
// multiply_block
//
// Instructions that take one element of a vector as a factor for all lanes (sdot by element) need no broadcast: one load of
// a row serves several quads. An architecture that has them supplies
//
//   block_length<Activation>              how many elements of a row it takes at once
//   multiply_block(tile, rows, k, panel)  tile[row][v] += the elements of rows[row] from k on, so many of them, times as
//                                         many elements of the depth of the panel from `panel` on
//
//   template <int Rows, int Vectors>
//   static void multiply_block(int32 (&tile)[Rows][Vectors], const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
//                              const std::int8_t* panel);
//
//   block_sums<Activation>                optional: the type of the tile's elements where they are not int32 vectors
//   clear(sums)                           with it: makes one zero
//   multiply_step(tile, rows, k, panel)   with it: the same as multiply_block for a single quad (pair)
//   add_blocks(tile, blocks)              with it: adds a tile of them to one of int32 vectors
//   octets, multiply_octet(...)           optional, with it: panels of quads have the eight weights of a channel side by
//                                         side, multiply_block takes those, and multiply_octet eight elements of a row; a
//                                         last quad of a run is as everywhere else, and goes to multiply_step
//   most_rows<Activation>(vectors)        optional: of how many rows the registers hold the sums, where that is fewer
//                                         than a tile has, which is then multiplied in parts
//
// for the operands it wants to: overloads on the types of `rows` and `panel`, always inlined. gemm.hpp takes it for whole
// blocks of a run, and broadcast and dot4 for what is left. A step of the panel is vectors * lanes * depth weights, also
// where Vectors, the vectors that are multiplied, are fewer. The order of loads and products is the architecture's.

// Whole tiles
//
// Machines that hold tiles in registers of their own, as AMX does, have values that are no C++ vectors, and a state that has to be
// set up. Such an architecture supplies, beside exact quads for all that is no whole tile, what tile_products.hpp has
// for two operands of unsigned bytes:
//
//   whole_tile_rows               rows of a tile; panels have whole_tile_width channels
//   fewest_whole_rows             rows that are left, from which on a tile pays of which no more are used
//   tile_slack                    bytes behind the last panel that may be read
//   tile_session(rows, run_length, runs)  an object as long as which tiles are in use; usable() says whether they are
//   multiply_whole_tiles(band, offsets, rows, runs, panel, bias, channels, ahead, sums)  the sums of the next tile or two, or of what is
//                                 left, as multiply_tile's in gemm.hpp; gives how many rows. Weights are 128 higher, as unsigned bytes
//   flip_signs(weights)           a vector of those as int8, for dot4
//   sum_bytes(from, count, step, windows, sums)  sums[i] += `count` bytes from from + i * step on
//
// gemm.hpp asks for tiles first, where sums of rows are listed (window_runs::row_sums).

namespace zp::inline v0::kernel {

/// What dot4 multiplies with int8 weights, and how it adds up four products.
enum class quad_products {
    none,              ///< there is no dot4: all panels take dot2
    saturating_pairs,  ///< of uint8 activations, by pairs in 16 saturating bits: exact for panels that were checked
    exact,             ///< of uint8 activations
    seven_bits,        ///< of uint8 activations below 128; wider codes take pairs
    exact_signed       ///< of int8 activations: unsigned codes above 127 are staged 128 lower
};

/// What Winograd's transforms take, in products of words that could be made meanwhile, for conv2d_choice.hpp: for each channel of a
/// tile and position of its input, for each pixel and channel of its output, for each position of a filter, and for each
/// multiplication of a row by a panel that has to be begun. As measured with AVX2.
struct winograd_costs {
    double input = 6, output = 30, filter = 2, call = 100;
};

/// The most rows of a tile, and the most pairs of weights side by side in a panel that is checked for saturation: arrays
/// have room for so many.
inline constexpr int most_tile_rows = 16, most_checked_pairs = 64;

// The contract, part by part. O is a struct of primitives.

template <class O> concept has_constants = requires {
    { O::name } -> std::convertible_to<const char*>;
    { O::tile_rows + O::vectors + O::lanes + O::sums_in_flight } -> std::same_as<int>;
    { O::byte_products + O::word_products } -> std::convertible_to<double>;
    { O::quads } -> std::convertible_to<quad_products>;
    { O::has_batches&& O::has_byte_lookup } -> std::convertible_to<bool>;
};
template <class O>
concept multiplies_pairs = requires(typename O::int32& sums, const std::int16_t* a, const std::int8_t* bytes) {
    O::dot2(sums, O::broadcast(a), O::template load<typename O::int16>(a));
    O::dot2(sums, O::broadcast(a), O::load_widened(bytes));
    O::add(sums, std::int32_t{1});
    O::add(sums, sums);
};
template <class O>
concept multiplies_quads = requires(typename O::int32& sums, const std::uint8_t* a, const std::int8_t* b) {
    O::dot4(sums, O::broadcast(a), O::template load<typename O::int8>(b));
};
template <class O>
concept multiplies_signed_quads = requires(typename O::int32& sums, const std::uint8_t* a, const std::int8_t* b,
                                           std::uint8_t* to, std::int32_t* numbers) {
    O::dot4_flipped(sums, O::broadcast(a), O::broadcast(a), b);
    O::add_widened(sums, O::pair_sums(O::broadcast(a), O::template load<typename O::int8>(b)));
    O::split_signs(a, std::ptrdiff_t{1}, std::uint8_t{1}, to, to);
    O::sum_flipped(a, std::ptrdiff_t{1}, std::ptrdiff_t{1}, std::ptrdiff_t{1}, std::ptrdiff_t{1}, numbers);
};
template <class O>
concept finishes_vectors = requires(typename O::int32& high, const typename O::int32& a, const std::int32_t* numbers,
                                    const float* floats, const typename O::int32 (&four)[4], std::uint8_t* codes,
                                    const std::uint16_t* halves) {
    { O::load_first(numbers, 1) } -> std::convertible_to<typename O::int32>;
    { O::load_first(floats, 1) } -> std::convertible_to<typename O::real>;
    { O::load_halves(halves) } -> std::convertible_to<typename O::real>;
    O::multiply_wide(a, a, high, high);
    O::store_halves(codes, codes, O::pack(four, typename O::int16(std::int16_t{1})));
    O::store_pairs(codes, codes, O::pack_pairs(four, typename O::int16(std::int16_t{1})));
    { O::load_lanes(codes) } -> std::convertible_to<typename O::int32>;
};
template <class O> concept keeps_registers = requires(typename O::int32& sums, typename O::int32 (&row)[O::vectors]) {
    O::fence(row);
    O::memory_fence();
    O::keep(sums);
};
template <class O>
concept stages_codes = requires(const std::uint8_t* codes, const std::uint8_t* const (&two)[2],
                                const std::uint8_t* const (&four)[4], std::int16_t* words, std::byte* cells,
                                std::int32_t* numbers, const typename O::int32& sums) {
    O::widen(codes, std::ptrdiff_t{1}, std::int32_t{1}, words);
    O::interleave(two, std::ptrdiff_t{1}, std::uint8_t{1}, cells);
    O::interleave(four, std::ptrdiff_t{1}, std::uint8_t{1}, cells);
    O::gather(codes, codes, std::uint32_t{1}, cells);
    O::store(numbers, sums);
};
template <class O>
concept multiplies_whole_tiles = requires(const std::uint8_t* bytes, const std::int8_t* weights,
                                          std::int32_t* numbers) {
    { O::whole_tile_rows + O::whole_tile_width + O::fewest_whole_rows } -> std::same_as<int>;
    { O::tile_slack } -> std::convertible_to<std::ptrdiff_t>;
    { typename O::tile_session(1, 1, 1).usable() } -> std::same_as<bool>;
    O::dot4(std::declval<typename O::int32&>(), O::broadcast(bytes),
            O::flip_signs(O::template load<typename O::int8>(weights)));
    O::sum_bytes(bytes, std::ptrdiff_t{1}, std::ptrdiff_t{1}, std::ptrdiff_t{1}, numbers);
};
template <class O> concept looks_up_bytes = requires(const std::uint8_t* table, const typename O::uint8& v) {
    O::shuffle16(O::broadcast16(table), v);
    O::template shift_left<1>(v);
    O::select_by_sign(v, v, v);
};
template <class O>
concept computes_words = requires(typename O::int32& sums, typename O::int16& pairs, const typename O::int16& words,
                                  std::int8_t* codes, std::int32_t* numbers, const std::int16_t* table,
                                  typename O::wide_sums& wide) {
    { O::word_part + O::multiplier_numbers } -> std::same_as<int>;
    O::widen_words(words, sums, sums);
    O::pair_words(words, words, pairs, pairs);
    O::multiply_words(words, words, sums, sums);
    { O::load_word_lanes(table) } -> std::convertible_to<typename O::int32>;
    O::store_first_codes(codes, words);
    O::store_codes(codes, O::with_sign(O::multiply_q15(words, O::pack_words(sums, sums)), words));
    O::look_up_words(O::load_word_table(table), O::word_places(words));
    O::put_multiplier(numbers, 1, std::int32_t{1});
    O::put_wide(numbers, 1, std::int64_t{1});
    O::add_scaled(wide, sums, numbers);
    { O::shift_wide(O::load_wide(numbers), 1) } -> std::convertible_to<typename O::int32>;
};

template <class O>
concept looks_up_near = requires(const std::uint32_t* rows, const typename O::int32& v, std::uint8_t* to) {
    O::store_low_bytes(to, O::look_up_near(rows, v));
};
template <class O> concept looks_up_1024 = requires(const std::uint8_t* table, const typename O::int32 (&places)[4]) {
    { O::look_up_fine(table, places) } -> std::convertible_to<typename O::uint8>;
};

/// The rules of the contract, and whether a struct of primitives keeps each. What cannot be asked without its constants counts as kept.
template <class O, bool HasConstants = has_constants<O>> struct contract_rules {
    static constexpr bool tile_fits = true, vectors_fit = true, has_pairs = true, has_fences = true, has_stages = true,
                          has_dot4 = true, has_signed_quads = true, panels_fit = true, has_tiles = true,
                          has_epilogues = true, has_look_ups = true, has_words = true, has_near_look_ups = true,
                          has_fine_look_ups = true, steps_fit = true;
    static constexpr bool all = false;
};
template <class O> struct contract_rules<O, true> {
    static constexpr bool tile_fits = O::tile_rows >= 1 && O::tile_rows <= most_tile_rows;
    static constexpr bool vectors_fit = O::vectors == 2 || O::vectors == 4 || (O::vectors == 1 && !O::has_batches);
    static constexpr bool has_pairs = multiplies_pairs<O>, has_fences = keeps_registers<O> || !vectors_fit;
    static constexpr bool has_stages = stages_codes<O>;
    static constexpr bool saturates = O::quads == quad_products::saturating_pairs;
    static constexpr bool has_dot4 = O::quads == quad_products::none || multiplies_quads<O>;
    static constexpr bool has_signed_quads = !saturates || multiplies_signed_quads<O>;
    static constexpr bool panels_fit = !saturates || 2 * O::vectors * O::lanes <= most_checked_pairs;
    static constexpr bool has_tiles = [] {
        if constexpr (requires { O::whole_tile_rows; })
            return multiplies_whole_tiles<O> && O::quads == quad_products::exact &&
                   O::whole_tile_width == O::vectors * O::lanes;
        else return true;
    }();
    static constexpr bool has_epilogues = !O::has_batches || finishes_vectors<O>;
    static constexpr bool has_look_ups = !O::has_byte_lookup || looks_up_bytes<O>;
    static constexpr bool has_near_look_ups = looks_up_near<O> || !requires { &O::look_up_near; };
    static constexpr bool has_fine_look_ups = looks_up_1024<O> || !requires { &O::look_up_fine; };
    static constexpr bool steps_fit = [] {
        if constexpr (requires { O::narrow_step_units; })
            return O::narrow_step_units > 0 && O::narrow_step_units <= O::lanes && O::has_batches;
        else return true;
    }();
    static constexpr bool has_words = !O::has_batches || computes_words<O>;
    static constexpr bool all = tile_fits && vectors_fit && has_pairs && has_fences && has_stages && has_dot4 &&
                                has_signed_quads && panels_fit && has_tiles && has_epilogues && has_look_ups &&
                                has_words && has_near_look_ups && has_fine_look_ups && steps_fit;
};
/// A sentence for each rule that is broken, where its size is asked: of such a class every compiler tells once.
template <class O> struct contract_check {
    using rules = contract_rules<O>;
    static_assert(has_constants<O>,
                  "operations of an architecture: a constant of arch/contract.hpp is missing or of another "
                  "type: name, tile_rows, vectors, lanes, sums_in_flight, has_batches, quads, "
                  "has_byte_lookup, byte_products, word_products");
    static_assert(rules::tile_fits, "operations of an architecture: tile_rows must be 1 to 16");
    static_assert(rules::vectors_fit,
                  "operations of an architecture: vectors must be 2 or 4, or 1 where has_batches is false");
    static_assert(rules::has_pairs,
                  "operations of an architecture: dot2 must take what broadcast gives of int16 and "
                  "weights that load or load_widened gives, and add a number or a vector");
    static_assert(rules::has_fences,
                  "operations of an architecture: fence must take a row of a tile, keep one vector of it, and "
                  "memory_fence nothing");
    static_assert(rules::has_stages,
                  "operations of an architecture: widen, interleave of two and of four rows, gather or store is "
                  "missing, or takes other arguments than those of arch/portable.hpp");
    static_assert(rules::has_dot4,
                  "operations of an architecture: dot4 must take what broadcast gives of uint8, and an int8 vector of "
                  "weights; where there is none, quads is quad_products::none");
    static_assert(rules::has_signed_quads,
                  "operations of an architecture: saturating_pairs also needs pair_sums, add_widened, dot4_flipped, "
                  "split_signs and sum_flipped");
    static_assert(
        rules::panels_fit,
        "operations of an architecture: panels of saturating_pairs have at most 32 channels (vectors * lanes), "
        "for which the check of pairs has room");
    static_assert(rules::has_tiles,
                  "operations of an architecture: whole_tile_rows also needs whole_tile_width, which is that of a "
                  "panel, fewest_whole_rows, tile_slack, tile_session, flip_signs and sum_bytes, and exact quads");
    static_assert(rules::has_epilogues,
                  "operations of an architecture: has_batches also needs load_first, load_lanes, load_halves, pack, "
                  "store_halves and multiply_wide");
    static_assert(rules::has_look_ups,
                  "operations of an architecture: has_byte_lookup also needs broadcast16, shuffle16, shift_left and "
                  "select_by_sign");
    static_assert(
        rules::has_near_look_ups,
        "operations of an architecture: look_up_near takes rows of uint32 and a vector of places, and also needs "
        "store_low_bytes");
    static_assert(rules::has_fine_look_ups,
                  "operations of an architecture: look_up_fine takes a table of uint8 and four vectors of places, and "
                  "gives a vector of bytes");
    static_assert(
        rules::steps_fit,
        "operations of an architecture: narrow_step_units must be 1 to the lanes of a vector, where has_batches");
    static_assert(rules::has_words,
                  "operations of an architecture: has_batches also needs words, which "
                  "vector_operations.hpp has for every width");
};

}  // namespace zp::inline v0::kernel
