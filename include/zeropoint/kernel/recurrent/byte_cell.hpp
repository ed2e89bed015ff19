// SPDX-License-Identifier: BSD-3-Clause
// A step of an LSTM or GRU layer over 8-bit codes: products, arguments and gates of a block of units in one piece, in integers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/recurrent/cell_extents.hpp>
#include <zeropoint/kernel/recurrent/unit_states.hpp>
#include <zeropoint/kernel/recurrent/word_functions.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

// kernel/reference/recurrent.hpp has the definition. A gate's argument is
//
//     floor((x_sum * x_multiplier + h_sum * h_multiplier + bias) / 2^shift)      in int64, one half being in the bias
//
// as int32, then saturated to int16: of scale 2^-12 for a tanh, 2^-11 for a sigmoid. A GRU's third gate has two, of the input and of
// the state, of scale 2^-14. Whoever packs sees to it that none leaves 30 bits. Then, in PyTorch's order of gates,
//
//     LSTM  c = sat16((f * c + ((i * g + 8) >> 4) + 2^14) >> 15)                            c of scale 2^-11
//           h = min((q15(o, tanh(sat16(2 * c))) + 128) >> 8, 127)                           h of scale 2^-7
//     GRU   n = tanh(sat16((x_n + ((r * h_n + 2^14) >> 15) + 2) >> 2))
//           wide = (n * 2^15 + z * (wide - n) + 2^14) >> 15                                 of scale 2^-15
//           h = min((wide + 128) >> 8, 127)
//
// Weights lie in blocks of 2 * lanes units, as many as a vector of words has, and there step by step of the depth, gate by gate, in
// two vectors of sums. Units are placed in those so that packing them to words restores their order. Behind a block's weights are its
// multipliers and biases. A small layer's last block has one vector of sums a gate where its units fit that: two gates are then a vector
// of words, and states are lanes of 32 bits. Where bytes have an exact product, activations are staged as bytes, else as words from their zero point.

namespace zp::inline v0::kernel {

/// `Small` says that weights are kept as words where they are multiplied as such, faster and twice the bytes, and that a last block
/// may be half as wide, which is more code.
template <class Arch, bool IsLstm, bool Small> struct byte_cell {
private:
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    using states = unit_states<ops>;
    static constexpr int lanes = ops::lanes, units = 2 * lanes, gates = IsLstm ? 4 : 3, sums = 2 * gates;
    static constexpr bool has_halves = Small && ops::has_batches;
    static constexpr bool signed_quads = ops::quads == quad_products::exact_signed,
                          quads = signed_quads || ops::quads == quad_products::exact;
    static constexpr int group = quads ? 4 : 2;
    using weight = std::conditional_t<quads || !Small, std::int8_t, std::int16_t>;
    /// Of a step of the depth, `vectors` of sums a gate.
    static constexpr int step_weights(int vectors) { return gates * vectors * lanes * group; }

    /// The numbers of a vector of sums: two multipliers and one bias, of a GRU's third gate two.
    static constexpr int multipliers = [] {
        if constexpr (ops::has_batches) return ops::multiplier_numbers * ops::lanes;
        else return ops::lanes;
    }();
    static constexpr int at_h = multipliers, at_bias = 2 * multipliers, at_h_bias = at_bias + 2 * lanes,
                         vector_numbers = at_h_bias + (IsLstm ? 0 : 2 * lanes);
    static constexpr bool is_apart(int gate) { return !IsLstm && gate == 2; }

    template <class Extents> static constexpr int x_steps(const Extents& e) { return (e.inputs + group - 1) / group; }
    /// Whether the input is a value or a few, known when compiled.
    template <class Extents>
    static constexpr bool has_short_input = Extents::known_inputs > 0 && Extents::known_inputs <= 2 * group;
    template <class Extents> static constexpr int h_steps(const Extents& e) { return (e.hidden + group - 1) / group; }
    template <class Extents> static constexpr int blocks(const Extents& e) { return (e.hidden + units - 1) / units; }
    /// Blocks whose products come before the gates of any of them, and each part of whose gates before the next of any: gates are
    /// chains, of which two are under way then.
    static constexpr int blocks_together = 2;
    /// Whether so many blocks' products read the state where it lies, which no h may replace before, in two sets of sums; what the
    /// input adds is scaled before them, while the step before ends. For that registers have to be many.
    template <class Extents>
    static constexpr auto reads_state = [](int most) {
        if constexpr (Extents::known_inputs > 0)
            return quads && lanes == 16 && Extents::hidden % group == 0 && Extents::hidden <= most * units;
        else return most == 0;
    };
    template <class Extents> static constexpr bool is_in_place = reads_state<Extents>(blocks_together);
    /// The gate that is needed last, an LSTM's o and a GRU's z, and whether it is made behind the functions of the others.
    static constexpr int late_gate = IsLstm ? 3 : 1;
    template <class Extents, int Vectors> static constexpr bool has_late_gate = Vectors == 2 && reads_state<Extents>(1);
    /// Whether the last block is a half.
    template <class Extents> static constexpr bool ends_by_half(const Extents& e) {
        return has_halves && blocks(e) * units - e.hidden >= lanes;
    }
    template <class Extents> static constexpr int vectors_of(const Extents& e, int block) {
        return ends_by_half(e) && block + 1 == blocks(e) ? 1 : 2;
    }
    template <class Extents> static constexpr std::size_t numbers_begin(const Extents& e, int vectors) {
        return align_up(sizeof(weight) * static_cast<std::size_t>((x_steps(e) + h_steps(e)) * step_weights(vectors)));
    }
    template <class Extents> static constexpr std::size_t block_bytes(const Extents& e, int vectors = 2) {
        return numbers_begin(e, vectors) +
               align_up(sizeof(std::int32_t) * static_cast<std::size_t>(gates * vectors * vector_numbers));
    }

    /// Which unit of a block a lane of the first or second vector holds.
    static constexpr int unit_of(int vectors, int vector, int lane) {
        if constexpr (ops::has_batches)
            if (vectors == 2)
                return lane / ops::word_part * 2 * ops::word_part + vector * ops::word_part + lane % ops::word_part;
        return vector * lanes + lane;
    }
    /// What is added to codes before they are multiplied.
    static constexpr std::int32_t shift_of(byte_codes codes) {
        if constexpr (!quads) return -codes.zero_point;
        else return signed_quads ? (codes.is_signed ? 0 : -128) : (codes.is_signed ? 128 : 0);
    }
    static constexpr byte_codes of_state{};

public:
    /// What activations are multiplied as.
    using activation = std::conditional_t<quads, std::uint8_t, std::int16_t>;

    template <class Extents> static constexpr std::size_t packed_bytes(const Extents& e) {
        return static_cast<std::size_t>(blocks(e) - 1) * block_bytes(e) + block_bytes(e, vectors_of(e, blocks(e) - 1));
    }
    /// Elements of staged inputs, and of a staged state.
    template <class Extents> static constexpr int staged_inputs(const Extents& e) { return x_steps(e) * group; }
    template <class Extents> static constexpr int staged_state(const Extents& e) { return h_steps(e) * group; }

    /// x: gates * hidden x inputs int8 weights, h: gates * hidden x hidden.
    static void pack(const cell_extents& e, byte_codes codes, const std::int8_t* x, const std::int8_t* h,
                     const cell_numbers& from, std::byte* packed) {
        std::memset(packed, 0, packed_bytes(e));
        for_each_row(e, packed, [&](int row, int gate, weight* w, int step, std::int32_t* numbers, int lane) {
            std::int64_t x_sum = 0, h_sum = 0;
            for (int i = 0; i != e.inputs; ++i)
                x_sum += w[place(i, step)] = x[static_cast<std::ptrdiff_t>(row) * e.inputs + i];
            for (int i = 0; i != e.hidden; ++i)
                h_sum += w[x_steps(e) * step + place(i, step)] = h[static_cast<std::ptrdiff_t>(row) * e.hidden + i];
            const std::int64_t x_bias =
                from.x_bias[row] - x_sum * (codes.zero_point + shift_of(codes)) * from.x_multiplier[row];
            const std::int64_t h_bias = from.h_bias[row] - h_sum * shift_of(of_state) * from.h_multiplier[row];
            put_multiplier(numbers, lane, from.x_multiplier[row]);
            put_multiplier(numbers + at_h, lane, from.h_multiplier[row]);
            put_wide(numbers + at_bias, lane, is_apart(gate) ? x_bias : x_bias + h_bias);
            if (is_apart(gate)) put_wide(numbers + at_h_bias, lane, h_bias);
        });
    }
    /// The inverse, of weights.
    static void unpack(const cell_extents& e, const std::byte* packed, std::int8_t* x, std::int8_t* h) {
        for_each_row(e, packed, [&](int row, int, const weight* w, int step, const std::int32_t*, int) {
            for (int i = 0; i != e.inputs; ++i)
                x[static_cast<std::ptrdiff_t>(row) * e.inputs + i] = static_cast<std::int8_t>(w[place(i, step)]);
            for (int i = 0; i != e.hidden; ++i)
                h[static_cast<std::ptrdiff_t>(row) * e.hidden + i] =
                    static_cast<std::int8_t>(w[x_steps(e) * step + place(i, step)]);
        });
    }

    /// Codes of the input of one step as they are multiplied: `staged` has staged_inputs(e) elements.
    template <class Code, class Extents>
    [[gnu::always_inline]] static void stage_input(const Extents& e, byte_codes codes, const Code* x,
                                                   activation* staged) noexcept {
        if constexpr (quads && has_short_input<Extents>) {
            // One store: what reads four bytes of several waits until all are in the cache. Those behind the last meet zeros.
            std::uint64_t all = 0;
            std::memcpy(&all, x, static_cast<std::size_t>(e.inputs));
            all ^= shift_of(codes) == 0 ? 0 : ~std::uint64_t{0} / 255 * 128;
            std::memcpy(staged, &all, static_cast<std::size_t>(staged_inputs(e)));
        } else {
            stage(x, e.inputs, codes, staged_inputs(e), staged);
        }
    }
    /// One step behind it: h and carried have e.hidden values, `state` has room for staged_state(e) elements. y, unless null, gets
    /// h too, with its highest bits flipped where `flips`.
    template <class Extents>
    [[gnu::always_inline]] static void step(const Extents& e, const std::byte* packed, int shift,
                                            const activation* staged, std::int8_t* h, std::int16_t* carried,
                                            activation* state, std::int8_t* y = nullptr, bool flips = false) noexcept {
        if constexpr (ops::has_batches) {
            if constexpr (!is_in_place<Extents>) stage_state(e, h, state);
            ops::memory_fence();  // factors are broadcast from memory: from registers they are two instructions
            const word_functions<ops> functions;
            const auto flip = static_cast<std::int16_t>(flips ? -128 : 0);
            arguments_of<ops> arguments[blocks_together];
            for (int first = 0; first < blocks(e); first += blocks_together) {
                const int count = std::min(blocks(e) - first, blocks_together);
                const bool has_half = ends_by_half(e) && first + count == blocks(e);
                // visit(of a block, its number, how many vectors of sums a gate it has)
                const auto for_each_block = [&](auto visit) __attribute__((always_inline)) {
                    for (int i = 0; i != count - has_half; ++i)
                        visit(arguments[i], first + i, std::integral_constant<int, 2>());
                    if constexpr (has_halves)
                        if (has_half) visit(arguments[count - 1], first + count - 1, std::integral_constant<int, 1>());
                };
                const auto begin_of = [&](int block) {
                    return packed + static_cast<std::size_t>(block) * block_bytes(e);
                };
                // Those with the input do not wait for the step before.
                if constexpr (!has_short_input<Extents>)
                    for_each_block([&](auto& of, int block, auto vectors) __attribute__((always_inline)) {
                        multiply_input<vectors>(e, begin_of(block), staged, of.input_sums);
                    });
                for_each_block([&](auto& of, int block, auto vectors) __attribute__((always_inline)) {
                    multiply_block<vectors>(e, begin_of(block), shift, staged, state, h, of);
                });
                for_each_block([&](auto& of, int block, auto vectors) __attribute__((always_inline)) {
                    if constexpr (IsLstm)
                        update_cell<vectors, has_late_gate<Extents, vectors>>(functions, of, e.hidden - block * units,
                                                                              carried + block * units);
                    else open_gates<vectors, has_late_gate<Extents, vectors>>(functions, of);
                    if constexpr (has_late_gate<Extents, vectors>)
                        multiply_late_gate(e, begin_of(block), shift, staged, h, functions, of);
                });
                if constexpr (!IsLstm) {
                    for_each_block([&](auto& of, int, auto vectors)
                                       __attribute__((always_inline)) { find_fresh<vectors>(functions, of); });
                    for_each_block([&](auto& of, int block, auto vectors) __attribute__((always_inline)) {
                        update_state<vectors>(of, e.hidden - block * units, carried + block * units);
                    });
                }
                for_each_block([&](auto& of, int block, auto vectors) __attribute__((always_inline)) {
                    const int unit = block * units;
                    give_block<vectors>(functions, of, e.hidden - unit, h + unit, y == nullptr ? nullptr : y + unit,
                                        flip);
                });
            }
        } else {
            stage(h, e.hidden, of_state, staged_state(e), state);
            for (int block = 0; block != blocks(e); ++block, packed += block_bytes(e))
                step_units(e, packed, shift, staged, state, std::min(e.hidden - block * units, units),
                           h + block * units, carried + block * units);
            if (y != nullptr)
                for (int i = 0; i != e.hidden; ++i) y[i] = static_cast<std::int8_t>(h[i] ^ (flips ? -128 : 0));
        }
    }

private:
    static constexpr int place(int i, int step) { return i / group * step + i % group; }
    static void put_multiplier(std::int32_t* to, int lane, std::int32_t value) {
        if constexpr (ops::has_batches) ops::put_multiplier(to, lane, value);
        else to[lane] = value;
    }
    static void put_wide(std::int32_t* to, int lane, std::int64_t value) {
        if constexpr (ops::has_batches) ops::put_wide(to, lane, value);
        else std::memcpy(to + 2 * lane, &value, sizeof value);
    }
    /// visit(row, gate, its first weight of the input, weights of a step, the numbers of its vector, its lane)
    template <class Byte, class Visit> static void for_each_row(const cell_extents& e, Byte* packed, Visit visit) {
        using weights = std::conditional_t<std::is_const_v<Byte>, const weight, weight>*;
        using numbers = std::conditional_t<std::is_const_v<Byte>, const std::int32_t, std::int32_t>*;
        for (int block = 0; block != blocks(e); ++block, packed += block_bytes(e)) {
            const int vectors = vectors_of(e, block);
            for (int s = 0; s != gates * vectors; ++s)
                for (int lane = 0; lane != lanes; ++lane) {
                    const int unit = block * units + unit_of(vectors, s % vectors, lane);
                    if (unit >= e.hidden) continue;
                    visit(s / vectors * e.hidden + unit, s / vectors,
                          reinterpret_cast<weights>(packed) + (s * lanes + lane) * group, step_weights(vectors),
                          reinterpret_cast<numbers>(packed + numbers_begin(e, vectors)) + s * vector_numbers, lane);
                }
        }
    }

    /// The first `count` of `padded` elements from codes, the others zeros.
    template <class Code>
    [[gnu::always_inline]] static void stage(const Code* from, int count, byte_codes codes, int padded,
                                             activation* to) noexcept {
        if constexpr (quads) {
            const auto flip = static_cast<std::uint8_t>(shift_of(codes) == 0 ? 0 : 128);
            for (int i = 0; i != count; ++i)
                to[i] = static_cast<std::uint8_t>(static_cast<std::uint8_t>(from[i]) ^ flip);
        } else {
            ops::widen(from, count, codes.zero_point, to);
        }
        for (int i = count; i != padded; ++i) to[i] = 0;
    }

    /// The state as it is multiplied. Each block's part was stored by one instruction: what reads more than one waits for the cache.
    template <class Extents>
    [[gnu::always_inline]] static void stage_state(const Extents& e, const std::int8_t* h, activation* to) noexcept {
        if constexpr (quads) {
            stage(h, e.hidden, of_state, staged_state(e), to);
        } else {
            const int whole = e.hidden / units * units;
            for (int i = 0; i != whole; i += units) stage(h + i, units, of_state, units, to + i);
            if (has_halves && e.hidden - whole == lanes) ops::widen_lanes(h + whole, to + whole);
            else stage(h + whole, e.hidden - whole, of_state, staged_state(e) - whole, to + whole);
        }
    }

    /// to += activations * weights, `steps` groups of the depth.
    template <int Sums>
    [[gnu::always_inline]] static void multiply(const activation* from, int steps, const weight* w,
                                                int32 (&to)[Sums]) noexcept {
        constexpr int together = 4;
        const auto add_step = [&](int k) __attribute__((always_inline)) {
            const auto a = ops::broadcast(from + k * group);
            repeat<Sums>([&](int s) __attribute__((always_inline)) {
                multiply_one(to[s], a, w + (k * Sums + s) * lanes * group);
            });
        };
        // Loops stay loops, which take less of the caches for instructions.
        const int whole = steps / together * together;
#pragma GCC unroll 1
        for (int k = 0; k != whole; k += together)
            repeat<together>([&](int i) __attribute__((always_inline)) { add_step(k + i); });
#pragma GCC unroll 1
        for (int i = 0; i != steps % together; ++i) add_step(whole + i);
    }
    template <class Activations>
    [[gnu::always_inline]] static void multiply_one(int32& to, const Activations& a, const weight* w) noexcept {
        if constexpr (quads) ops::dot4(to, a, ops::template load<typename ops::int8>(w));
        else if constexpr (Small) ops::dot2_in_place(to, a, ops::template load<typename ops::int16>(w));
        else ops::dot2_in_place(to, a, ops::load_widened(w));
    }
    template <int Sums> [[gnu::always_inline]] static void clear(int32 (&to)[Sums]) noexcept {
        static constexpr std::int32_t zeros[lanes] = {};
        repeat<Sums>([&](int s) __attribute__((always_inline)) { to[s] = ops::template load<int32>(zeros); });
    }

    /// What a block's products leave, and what its gates make of that. Of one vector of sums a gate, words have two gates: i and f, g
    /// and o, r and z.
    template <class Ops> struct arguments_of {
        alignas(64) std::int32_t input_sums[sums * lanes];  // where an input is wide
        typename Ops::int16 words[IsLstm ? 4 : 2];          // gates; then words[0] makes h, an LSTM's by words[3]
        typename Ops::int32 from_input[IsLstm ? 1 : 2], from_state[IsLstm ? 1 : 2];  // of a GRU's third gate
    };

    /// Where registers are few, sums of the input wait in memory, unless they are a product or two.
    template <int Vectors, class Extents>
    [[gnu::always_inline]] static void multiply_input(const Extents& e, const std::byte* packed, const activation* x,
                                                      std::int32_t* to) noexcept {
        int32 input[gates * Vectors];
        clear(input);
        multiply(x, x_steps(e), reinterpret_cast<const weight*>(packed), input);
        repeat<gates * Vectors>([&](int s) __attribute__((always_inline)) { ops::store(to + s * lanes, input[s]); });
        ops::memory_fence();
    }
    /// The sums of `Count` vectors from the one with the number `First` on, `All` being those of a block, over the state where it lies:
    /// steps of the depth take turns in two sets of sums, where one would wait for itself.
    template <int First, int Count, int All, class Extents>
    [[gnu::always_inline]] static void multiply_state(const Extents&, const weight* w, const std::int8_t* h,
                                                      int32 (&to)[All]) noexcept {
        int32 sums_of_set[2][Count];
        clear(sums_of_set[0]);
        clear(sums_of_set[1]);
        const auto* from = reinterpret_cast<const activation*>(h);
        const auto add_step = [&](int k, int32(&into)[Count]) __attribute__((always_inline)) {
            auto a = ops::broadcast(from + k * group);
            if constexpr (!signed_quads) a = a ^ typename ops::uint8(std::uint8_t{128});
            repeat<Count>([&](int i) __attribute__((always_inline)) {
                multiply_one(into[i], a, w + (k * All + First + i) * lanes * group);
            });
        };
        constexpr int steps = Extents::hidden / group;
#pragma GCC unroll 4
        for (int k = 0; k < steps - 1; k += 2) {
            add_step(k, sums_of_set[0]);
            add_step(k + 1, sums_of_set[1]);
        }
        if constexpr (steps % 2 != 0) add_step(steps - 1, sums_of_set[0]);
        repeat<Count>([&](int i)
                          __attribute__((always_inline)) { to[First + i] = sums_of_set[0][i] + sums_of_set[1][i]; });
    }

    /// What the arguments of a block are made of.
    template <int Vectors, class Extents> struct argument_maker {
        static constexpr int step = step_weights(Vectors);
        const Extents& e;
        const std::byte* packed;
        int shift;
        const activation* x;
        const std::int32_t* input_sums;
        const weight* w = reinterpret_cast<const weight*>(packed);
        const std::int32_t* numbers = reinterpret_cast<const std::int32_t*>(packed + numbers_begin(e, Vectors));

        /// The bias and what the input adds to it.
        [[gnu::always_inline]] auto scaled_input(int s) const noexcept {
            const std::int32_t* own = numbers + s * vector_numbers;
            auto sum = ops::load_wide(own + at_bias);
            if constexpr (has_short_input<Extents>) {
                int32 input(0);
                for (int k = 0; k != x_steps(e); ++k)
                    multiply_one(input, ops::broadcast(x + k * group), w + k * step + s * lanes * group);
                ops::add_scaled(sum, input, own);
            } else {
                ops::add_scaled(sum, ops::template load<int32>(input_sums + s * lanes), own);
            }
            return sum;
        }
        /// A gate's argument, of both vectors.
        template <int Sums>
        [[gnu::always_inline]] void make_words(const int32 (&from_state)[Sums], int word, typename ops::int16& to,
                                               const typename ops::wide_sums* early = nullptr) const noexcept {
            int32 argument[2];
            repeat<2>([&](int i) __attribute__((always_inline)) {
                const int s = 2 * word + i;
                auto sum = early == nullptr ? scaled_input(s) : early[s];
                ops::add_scaled(sum, from_state[s], numbers + s * vector_numbers + at_h);
                argument[i] = ops::shift_wide(sum, shift);
            });
            to = ops::pack_words(argument[0], argument[1]);
            ops::keep(to);  // or g++ moves this behind the next block's products, but loads first what it takes
        }
    };

    template <int Vectors, class Extents>
    [[gnu::always_inline]] static void multiply_block(const Extents& e, const std::byte* packed, int shift,
                                                      const activation* x, const activation* state,
                                                      const std::int8_t* h, arguments_of<ops>& to) noexcept {
        constexpr int all = gates * Vectors, of_words = (IsLstm ? 4 : 2) * Vectors;
        constexpr bool is_late = has_late_gate<Extents, Vectors>;
        const argument_maker<Vectors, Extents> maker{e, packed, shift, x, to.input_sums};
        const weight* w = maker.w + x_steps(e) * maker.step;
        int32 from_state[all];
        constexpr bool is_early = is_in_place<Extents>;
        typename ops::wide_sums scaled[all];
        if constexpr (is_early)
            repeat<all>([&](int s) __attribute__((always_inline)) {
                if (!is_late || s / 2 != late_gate) scaled[s] = maker.scaled_input(s);
            });
        if constexpr (is_late) {
            multiply_state<0, IsLstm ? 6 : 2>(e, w, h, from_state);
            if constexpr (!IsLstm) multiply_state<4, 2>(e, w, h, from_state);
        } else if constexpr (is_in_place<Extents>) {
            multiply_state<0, all>(e, w, h, from_state);
        } else {
            clear(from_state);
            multiply(state, h_steps(e), w, from_state);
        }
        repeat<of_words / 2>([&](int word) __attribute__((always_inline)) {
            if (!is_late || word != late_gate)
                maker.make_words(from_state, word, to.words[word], is_early ? scaled : nullptr);
        });
        if constexpr (!IsLstm)
            repeat<Vectors>([&](int q) __attribute__((always_inline)) {
                const int s = of_words + q;
                const std::int32_t* own = maker.numbers + s * vector_numbers;
                auto sum = ops::load_wide(own + at_h_bias);
                ops::add_scaled(sum, from_state[s], own + at_h);
                to.from_input[q] = ops::shift_wide(is_early ? scaled[s] : maker.scaled_input(s), shift);
                to.from_state[q] = ops::shift_wide(sum, shift);
                ops::keep(to.from_input[q]);
                ops::keep(to.from_state[q]);
            });
    }
    /// Products, argument and function of the gate that multiply_block() leaves out.
    template <class Extents>
    [[gnu::always_inline]] static void multiply_late_gate(const Extents& e, const std::byte* packed, int shift,
                                                          const activation* x, const std::int8_t* h,
                                                          const word_functions<ops>& functions,
                                                          arguments_of<ops>& to) noexcept {
        const argument_maker<2, Extents> maker{e, packed, shift, x, to.input_sums};
        int32 from_state[sums];
        multiply_state<2 * late_gate, 2>(e, maker.w + x_steps(e) * maker.step, h, from_state);
        maker.make_words(from_state, late_gate, to.words[late_gate]);
        to.words[late_gate] = functions.sigmoid(to.words[late_gate]);
    }

    /// The gates and the cell of an LSTM.
    template <int Vectors, bool IsLate>
    [[gnu::always_inline]] static void update_cell(const word_functions<ops>& functions, arguments_of<ops>& block,
                                                   int count, std::int16_t* carried) noexcept {
        using int16 = typename ops::int16;
        const auto old = states::template load<Vectors>(carried, count);
        int32 kept[2], added[2];
        if constexpr (Vectors == 2) {
            const int16 i = functions.sigmoid(block.words[0]), g = functions.tanh(block.words[2]),
                        f = functions.sigmoid(block.words[1]);
            ops::multiply_words(f, old, kept[0], kept[1]);
            ops::multiply_words(i, g, added[0], added[1]);
            if constexpr (!IsLate) block.words[3] = functions.sigmoid(block.words[3]);
        } else {
            int32 i, f, g, o;
            ops::widen_words(functions.sigmoid(block.words[0]), i, f);
            ops::widen_words(functions.tanh(block.words[1]), g, o);
            kept[0] = states::multiply_lanes(f, old);
            added[0] = states::multiply_lanes(i, g);
            o = int32(16384) + (o >> 1);
            block.words[3] = ops::pack_words(o, o);
        }
        repeat<Vectors>([&](int q) __attribute__((always_inline)) {
            kept[q] = (kept[q] + int32(16384) + ((added[q] + int32(8)) >> 4)) >> 15;
        });
        block.words[0] = ops::pack_words(kept[0], kept[Vectors - 1]);
        states::template store<Vectors>(block.words[0], carried, count);
    }
    /// The gates r and z of a GRU.
    template <int Vectors, bool IsLate>
    [[gnu::always_inline]] static void open_gates(const word_functions<ops>& functions,
                                                  arguments_of<ops>& block) noexcept {
        repeat<IsLate ? 1 : Vectors>([&](int i) __attribute__((always_inline)) {
            block.words[i] = functions.sigmoid(block.words[i]);
        });
    }
    /// words[0] is then n, and z words[1], or from_state[0] in a block of one vector.
    template <int Vectors>
    [[gnu::always_inline]] static void find_fresh(const word_functions<ops>& functions,
                                                  arguments_of<ops>& block) noexcept {
        int32 reset[2], argument[2];
        ops::widen_words(block.words[0], reset[0], reset[1]);
        repeat<Vectors>([&](int q) __attribute__((always_inline)) {
            argument[q] = (block.from_input[q] + states::multiply_reset(reset[q], block.from_state[q]) + int32(2)) >> 2;
        });
        if constexpr (Vectors == 1) block.from_state[0] = reset[1];
        block.words[0] = functions.tanh(ops::pack_words(argument[0], argument[Vectors - 1]));
    }
    /// The state of a GRU, of which words[0] is then h.
    template <int Vectors>
    [[gnu::always_inline]] static void update_state(arguments_of<ops>& block, int count,
                                                    std::int16_t* carried) noexcept {
        const auto old = states::template load<Vectors>(carried, count);
        int32 kept[2], less[2], fresh[2];
        ops::widen_words(block.words[0], fresh[0], fresh[1]);
        if constexpr (Vectors == 2) {
            ops::multiply_words(block.words[1], old, kept[0], kept[1]);
            ops::multiply_words(block.words[1], block.words[0], less[0], less[1]);
        } else {
            kept[0] = states::multiply_lanes(block.from_state[0], old);
            less[0] = states::multiply_lanes(block.from_state[0], fresh[0]);
        }
        repeat<Vectors>([&](int q) __attribute__((always_inline)) {
            kept[q] = (kept[q] - less[q] + (fresh[q] << 15) + int32(16384)) >> 15;
        });
        block.words[0] = ops::pack_words(kept[0], kept[Vectors - 1]);
        states::template store<Vectors>(block.words[0], carried, count);
    }
    /// h, and y unless null, which gets h by an exclusive or with `flip`.
    template <int Vectors>
    [[gnu::always_inline]] static void give_block(const word_functions<ops>& functions, const arguments_of<ops>& block,
                                                  int count, std::int8_t* h, std::int8_t* y,
                                                  std::int16_t flip) noexcept {
        using int16 = typename ops::int16;
        int16 out = block.words[0];
        if constexpr (IsLstm) out = ops::multiply_q15(block.words[3], functions.tanh(xsimd::sadd(out, out)));
        const int16 codes = xsimd::sadd(out, int16(std::int16_t{128})) >> 8;
        states::template store_codes<Vectors>(codes, h, count);
        if (y != nullptr) states::template store_codes<Vectors>(codes ^ int16(flip), y, count);
    }

    /// The same unit by unit.
    template <class Extents>
    static void step_units(const Extents& e, const std::byte* packed, int shift, const activation* x,
                           const activation* state, int count, std::int8_t* h, std::int16_t* carried) noexcept {
        const auto* w = reinterpret_cast<const weight*>(packed);
        const auto* numbers = reinterpret_cast<const std::int32_t*>(packed + numbers_begin(e, 2));
        std::int32_t from_input[sums * lanes], from_state[sums * lanes];
        const auto multiply_into = [&](const activation* from, int steps, const weight* weights, std::int32_t* to) {
            int32 sum[sums];
            clear(sum);
            multiply(from, steps, weights, sum);
            for (int s = 0; s != sums; ++s) ops::store(to + s * lanes, sum[s]);
        };
        multiply_into(x, x_steps(e), w, from_input);
        multiply_into(state, h_steps(e), w + x_steps(e) * step_weights(2), from_state);
        const auto saturated = [](std::int32_t value) { return std::clamp(value, -32768, 32767); };
        for (int unit = 0; unit != count; ++unit) {
            const int lane = unit % lanes;
            // What is added up and shifted: of the input, of the state, or both.
            const auto argument = [&](int gate, bool of_x, bool of_h, int bias) {
                const int s = 2 * gate + unit / lanes;
                const std::int32_t* own = numbers + s * vector_numbers;
                std::int64_t sum;
                std::memcpy(&sum, own + bias + 2 * lane, sizeof sum);
                if (of_x) sum += std::int64_t{from_input[s * lanes + lane]} * own[lane];
                if (of_h) sum += std::int64_t{from_state[s * lanes + lane]} * own[at_h + lane];
                return static_cast<std::int32_t>(sum >> shift);
            };
            const auto word = [&](int gate) { return saturated(argument(gate, true, true, at_bias)); };
            int now, out;
            if constexpr (IsLstm) {
                const int added = word_sigmoid(word(0)) * word_tanh(word(2));
                now = saturated((word_sigmoid(word(1)) * carried[unit] + ((added + 8) >> 4) + 16384) >> 15);
                out = multiply_q15(word_sigmoid(word(3)), word_tanh(saturated(2 * now)));
            } else {
                const std::int64_t r = word_sigmoid(word(0)), h_n = argument(2, false, true, at_h_bias);
                const std::int64_t sum = argument(2, true, false, at_bias) + ((r * h_n + 16384) >> 15);
                const std::int64_t n = word_tanh(saturated(static_cast<std::int32_t>((sum + 2) >> 2)));
                now = static_cast<int>((n * 32768 + word_sigmoid(word(1)) * (carried[unit] - n) + 16384) >> 15);
                out = now;
            }
            carried[unit] = static_cast<std::int16_t>(now);
            h[unit] = static_cast<std::int8_t>(std::min((out + 128) >> 8, 127));
        }
    }
};

}  // namespace zp::inline v0::kernel
