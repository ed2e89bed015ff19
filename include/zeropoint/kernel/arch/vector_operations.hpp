// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels over xsimd batches of any width: what an architecture's file starts from.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <zeropoint/kernel/arch/contract.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

namespace zp::inline v0::kernel {

/// A vector in the compiler's own notation, for what xsimd has no word for: shuffles by constants, conversions.
template <class T, std::size_t Count> struct compiler_vector {
    typedef T type __attribute__((vector_size(Count * sizeof(T))));
};
using bytes16 = compiler_vector<std::uint8_t, 16>::type;
using words8 = compiler_vector<std::uint16_t, 8>::type;

/// to = elements Begin, Begin + Step, ... of `low` and then `high`. Vectors may be wider than the machine's.
template <int Begin, int Step, class Vector, class Selected>
[[gnu::always_inline]] inline void select_elements(const Vector& low, const Vector& high, Selected& to) {
    [&]<int... Index>(std::integer_sequence<int, Index...>) __attribute__((always_inline)) {
        to = __builtin_shufflevector(low, high, (Begin + Step * Index)...);
    }
    (std::make_integer_sequence<int, static_cast<int>(sizeof(to) / sizeof(to[0]))>{});
}
/// a[First], b[First], a[First + 1], b[First + 1], ... of vectors of `Count` elements, as many as fit one.
template <int Count, int First, class Vector>
[[gnu::always_inline]] inline Vector zip(const Vector& a, const Vector& b) {
    return [&]<int... Index>(std::integer_sequence<int, Index...>) __attribute__((always_inline)) {
        return __builtin_shufflevector(a, b, (First + Index / 2 + Index % 2 * Count)...);
    }
    (std::make_integer_sequence<int, Count>{});
}

/// contract.hpp says what each member means. `Derived` is the architecture: what it declares again is taken in place of
/// what is here, also by the functions here. It adds name, tile_rows, vectors, byte_products and word_products.
template <class Derived, class Arch> struct vector_operations {
    template <class T> using batch = xsimd::batch<T, Arch>;
    using int32 = batch<std::int32_t>;
    using int16 = batch<std::int16_t>;
    using int8 = batch<std::int8_t>;
    using uint8 = batch<std::uint8_t>;
    using real = batch<float>;

    static constexpr int lanes = static_cast<int>(int32::size);
    static constexpr int sums_in_flight = 4;
    static constexpr bool has_batches = true;
    static constexpr quad_products quads = quad_products::exact;
    static constexpr bool has_byte_lookup = false;

    template <class Batch, class T> [[gnu::always_inline]] static Batch load(const T* from) {
        return Batch::load_unaligned(from);
    }
    template <class T> [[gnu::always_inline]] static void store(T* to, const batch<T>& from) {
        from.store_unaligned(to);
    }
    /// 2 * lanes codes or weights as int16.
    template <class T> [[gnu::always_inline]] static int16 load_widened(const T* from) {
        return load_converted<int16>(from);
    }
    template <class T> [[gnu::always_inline]] static int32 load_lanes(const T* from) {
        return load_converted<int32>(from);
    }

    [[gnu::always_inline]] static int16 broadcast(const std::int16_t* from) {
        return xsimd::bitwise_cast<std::int16_t>(int32(four_bytes(from)));
    }
    [[gnu::always_inline]] static uint8 broadcast(const std::uint8_t* from) {
        return xsimd::bitwise_cast<std::uint8_t>(int32(four_bytes(from)));
    }

    /// Which of a lane's words (bytes) comes first does not matter, as long as it does so in both operands.
    [[gnu::always_inline]] static void dot2(int32& sums, const int16& a, const int16& b) {
        const int32 x = xsimd::bitwise_cast<std::int32_t>(a), y = xsimd::bitwise_cast<std::int32_t>(b);
        sums += ((x << 16) >> 16) * ((y << 16) >> 16) + (x >> 16) * (y >> 16);
    }
    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        const int32 x = xsimd::bitwise_cast<std::int32_t>(a), y = xsimd::bitwise_cast<std::int32_t>(b);
        const int32 byte(255);
        sums += (x & byte) * ((y << 24) >> 24) + ((x >> 8) & byte) * ((y << 16) >> 24) +
                ((x >> 16) & byte) * ((y << 8) >> 24) + ((x >> 24) & byte) * (y >> 24);
    }
    [[gnu::always_inline]] static void add(int32& sums, const int32& more) { sums += more; }
    [[gnu::always_inline]] static void add(int32& sums, std::int32_t more) { sums += int32(more); }
    [[gnu::always_inline]] static void dot4_flipped(int32& sums, const uint8& magnitudes, const uint8& flips,
                                                    const int8& b) {
        Derived::dot4(sums, magnitudes, b ^ xsimd::bitwise_cast<std::int8_t>(flips));
    }
    [[gnu::always_inline]] static void dot4_flipped(int32& sums, const uint8& magnitudes, const uint8& flips,
                                                    const std::int8_t* b) {
        Derived::dot4_flipped(sums, magnitudes, flips, load<int8>(b));
    }
    [[gnu::always_inline]] static void add_pair_sums(int16& sums, const uint8& a, const int8& b) {
        sums += Derived::pair_sums(a, b);
    }
    [[gnu::always_inline]] static void add_widened(int32& sums, const int16& pairs) {
        Derived::dot2(sums, pairs, int16(1));
    }

    /// Without it g++ hoists all broadcasts of a step and spills accumulators. One statement for all of a row.
    template <class Batch, int Count> [[gnu::always_inline]] static void fence(Batch (&sums)[Count]) {
        if constexpr (Count == 4) hold(sums[0].data, sums[1].data, sums[2].data, sums[3].data);
        else if constexpr (Count == 2) hold(sums[0].data, sums[1].data);
        else hold(sums[0].data);
    }
    /// Without it g++ would load an operand of two multiplications twice.
    template <class Batch> [[gnu::always_inline]] static void keep(Batch& operand) { hold(operand.data); }
    /// dot2 whose sum is there afterwards: or g++ adds all products at the end, from more registers than there are.
    template <class Factors>
    [[gnu::always_inline]] static void dot2_in_place(int32& sums, const Factors& a, const int16& b) {
        Derived::dot2(sums, a, b);
        keep(sums);
    }
    [[gnu::always_inline]] static void memory_fence() {
#if defined(__GNUC__) && !defined(__clang__)
        asm volatile("" ::: "memory");
#endif
    }

    [[gnu::always_inline]] static void interleave(const std::uint8_t* const (&rows)[4], std::ptrdiff_t at,
                                                  std::uint8_t flip, std::byte* to) {
        for_each_cells(
            to, [&](int first, auto* out) __attribute__((always_inline)) {
                bytes16 row[4];
                repeat<4>([&](int i)
                              __attribute__((always_inline)) { row[i] = cell_bytes(rows[i] + at + first) ^ flip; });
                const bytes16 low = zip<16, 0>(row[0], row[1]), low_other = zip<16, 0>(row[2], row[3]);
                out[0] = bits<bytes16>(zip<8, 0>(bits<words8>(low), bits<words8>(low_other)));
                out[1] = bits<bytes16>(zip<8, 4>(bits<words8>(low), bits<words8>(low_other)));
                if constexpr (block_cells == 16) {
                    const bytes16 high = zip<16, 8>(row[0], row[1]), high_other = zip<16, 8>(row[2], row[3]);
                    out[2] = bits<bytes16>(zip<8, 0>(bits<words8>(high), bits<words8>(high_other)));
                    out[3] = bits<bytes16>(zip<8, 4>(bits<words8>(high), bits<words8>(high_other)));
                }
            });
    }
    [[gnu::always_inline]] static void interleave(const std::uint8_t* const (&rows)[2], std::ptrdiff_t at,
                                                  std::uint8_t flip, std::byte* to) {
        for_each_cells(
            to, [&](int first, auto* out) __attribute__((always_inline)) {
                const bytes16 a = cell_bytes(rows[0] + at + first) ^ flip, b = cell_bytes(rows[1] + at + first) ^ flip;
                const bytes16 low = zip<16, 0>(a, b);
                out[0] = zip_zeros<0>(low);
                out[1] = zip_zeros<8>(low);
                if constexpr (block_cells == 16) {
                    const bytes16 high = zip<16, 8>(a, b);
                    out[2] = zip_zeros<0>(high);
                    out[3] = zip_zeros<8>(high);
                }
            });
    }
    [[gnu::always_inline]] static void gather(const std::uint8_t* from, const std::uint8_t* index, std::uint32_t flip,
                                              std::byte* to) {
        const bytes16 gathered = Derived::shuffle_bytes(load16(from), load16(index));
        store16(to, bits<bytes16>(bits<compiler_vector<std::uint32_t, 4>::type>(gathered) ^ flip));
    }
    /// table[index] in each byte, 0 where index = 255.
    [[gnu::always_inline]] static bytes16 shuffle_bytes(const bytes16& table, const bytes16& index) {
        bytes16 shuffled;
        for (int i = 0; i != 16; ++i) shuffled[i] = index[i] < 16 ? table[index[i]] : std::uint8_t{0};
        return shuffled;
    }

    template <class In>
    [[gnu::always_inline]] static void widen(const In* from, std::ptrdiff_t count, std::int32_t zero_point,
                                             std::int16_t* to) {
        constexpr std::ptrdiff_t size = 2 * lanes;
        const int16 offset(static_cast<std::int16_t>(zero_point));
        const std::ptrdiff_t rest = count % size, whole = count - rest;
        for (std::ptrdiff_t i = 0; i < whole; i += size) store(to + i, Derived::load_widened(from + i) - offset);
        if (whole != 0 && rest != 0) {  // the last vector overlaps the one before
            store(to + count - size, Derived::load_widened(from + count - size) - offset);
            return;
        }
        for (std::ptrdiff_t i = 0; i < rest; ++i)
            to[whole + i] = static_cast<std::int16_t>(from[whole + i] - zero_point);
    }
    static void split_signs(const std::uint8_t* from, std::ptrdiff_t count, std::uint8_t flip, std::uint8_t* magnitudes,
                            std::uint8_t* flips) {
        constexpr std::ptrdiff_t size = 4 * lanes;
        const uint8 mask(flip);
        std::ptrdiff_t i = 0;
        for (; i + size <= count; i += size) {
            const uint8 codes = load<uint8>(from + i) ^ mask, negative = Derived::negative_bytes(codes);
            store(magnitudes + i,
                  xsimd::bitwise_cast<std::uint8_t>(xsimd::abs(xsimd::bitwise_cast<std::int8_t>(codes))));
            store(flips + i, negative);
        }
        for (; i < count; ++i) {
            const auto code = static_cast<std::uint8_t>(from[i] ^ flip);
            flips[i] = code < 128 ? std::uint8_t{0} : std::uint8_t{0xff};
            magnitudes[i] = static_cast<std::uint8_t>((code ^ flips[i]) - flips[i]);
        }
    }
    /// 0xff where bit 7 is set, else 0.
    [[gnu::always_inline]] static uint8 negative_bytes(const uint8& x) {
        return xsimd::select(x >= uint8(128), uint8(255), uint8(0));
    }

    template <class T> [[gnu::always_inline]] static batch<T> load_first(const T* from, int count) {
        if (count >= lanes) return load<batch<T>>(from);
        T values[lanes] = {};
        for (int i = 0; i < count; ++i) values[i] = from[i];
        return load<batch<T>>(values);
    }
    [[gnu::always_inline]] static real load_halves(const std::uint16_t* from) {
        return widened_halves(load_converted<int32>(from));
    }
    [[gnu::always_inline]] static uint8 pack(const int32 (&v)[4], const int16& offset) {
        const int32 added = xsimd::bitwise_cast<std::int32_t>(offset) >> 16;
        const int32 low = -added, high = int32(255) - added;
        using words = typename compiler_vector<std::uint16_t, 2 * lanes>::type;
        using bytes = typename compiler_vector<std::uint8_t, 4 * lanes>::type;
        constexpr int lower = std::endian::native == std::endian::little ? 0 : 1;
        words codes[4], halves[2];
        repeat<4>([&](int i) __attribute__((always_inline)) {
            codes[i] = __builtin_bit_cast(words, xsimd::min(xsimd::max(v[i], low), high) + added);
        });
        select_elements<lower, 2>(codes[0], codes[1], halves[0]);
        select_elements<lower, 2>(codes[2], codes[3], halves[1]);
        bytes packed;
        select_elements<lower, 2>(__builtin_bit_cast(bytes, halves[0]), __builtin_bit_cast(bytes, halves[1]), packed);
        return bits<uint8>(packed);
    }
    [[gnu::always_inline]] static void store_halves(void* low, void* high, const uint8& from) {
        const auto bytes = __builtin_bit_cast(typename compiler_vector<std::uint8_t, 4 * lanes>::type, from);
        typename compiler_vector<std::uint8_t, 2 * lanes>::type half;
        select_elements<0, 1>(bytes, bytes, half);
        std::memcpy(low, &half, sizeof half);
        select_elements<2 * lanes, 1>(bytes, bytes, half);
        std::memcpy(high, &half, sizeof half);
    }
    [[gnu::always_inline]] static uint8 pack_pairs(const int32 (&v)[4], const int16& offset) {
        return Derived::pack(v, offset);
    }
    [[gnu::always_inline]] static void store_pairs(void* low, void* high, const uint8& from) {
        Derived::store_halves(low, high, from);
    }
    [[gnu::always_inline]] static void multiply_wide(const int32& a, const int32& b, int32& high, int32& low) {
        const auto halves = xsimd::mul_hilo(a, b);
        high = halves.first;
        low = halves.second;
    }

    [[gnu::always_inline]] static uint8 broadcast16(const std::uint8_t* from) {
        std::uint8_t table[4 * lanes];
        for (int i = 0; i != 4 * lanes; i += 16) std::memcpy(table + i, from, 16);
        return load<uint8>(table);
    }
    template <int Bits> [[gnu::always_inline]] static uint8 shift_left(const uint8& x) {
        return xsimd::bitwise_cast<std::uint8_t>(xsimd::bitwise_cast<std::uint16_t>(x) << Bits);
    }
    [[gnu::always_inline]] static uint8 select_by_sign(const uint8& condition, const uint8& if_set,
                                                       const uint8& if_not) {
        return xsimd::select(condition >= uint8(128), if_set, if_not);
    }

    // Words: the products of both words of a lane, in the order in which these lie.
    static constexpr int word_part = 1;
    [[gnu::always_inline]] static void widen_words(const int16& a, int32& first, int32& second) {
        const int32 both = xsimd::bitwise_cast<std::int32_t>(a), low = (both << 16) >> 16, high = both >> 16;
        first = is_little ? low : high;
        second = is_little ? high : low;
    }
    [[gnu::always_inline]] static void pair_words(const int16& a, const int16& b, int16& first, int16& second) {
        using uint32 = batch<std::uint32_t>;
        const uint32 x = xsimd::bitwise_cast<std::uint32_t>(a), y = xsimd::bitwise_cast<std::uint32_t>(b), low(0xffff);
        const uint32 of_low = is_little ? (y << 16) | (x & low) : (x << 16) | (y & low),
                     of_high = is_little ? (y & ~low) | (x >> 16) : (x & ~low) | (y >> 16);
        first = xsimd::bitwise_cast<std::int16_t>(is_little ? of_low : of_high);
        second = xsimd::bitwise_cast<std::int16_t>(is_little ? of_high : of_low);
    }
    [[gnu::always_inline]] static void multiply_words(const int16& a, const int16& b, int32& first, int32& second) {
        int32 x[2], y[2];
        widen_words(a, x[0], x[1]);
        widen_words(b, y[0], y[1]);
        first = x[0] * y[0];
        second = x[1] * y[1];
    }
    [[gnu::always_inline]] static int16 pack_words(const int32& first, const int32& second) {
        const int32 low(-32768), high(32767), mask(0xffff);
        const int32 x = xsimd::min(xsimd::max(first, low), high), y = xsimd::min(xsimd::max(second, low), high);
        return xsimd::bitwise_cast<std::int16_t>(is_little ? (y << 16) | (x & mask) : (x << 16) | (y & mask));
    }
    [[gnu::always_inline]] static int16 multiply_q15(const int16& a, const int16& b) {
        int32 first, second;
        multiply_words(a, b, first, second);
        return pack_words((first + int32(16384)) >> 15, (second + int32(16384)) >> 15);
    }
    [[gnu::always_inline]] static int16 with_sign(const int16& size, const int16& of) {
        const int16 sign = of >> 15;
        return (size ^ sign) - sign;
    }
    static constexpr bool has_masks = false;
    [[gnu::always_inline]] static void store_codes(std::int8_t* to, const int16& words) {
        std::int16_t stored[2 * lanes];
        store(stored, xsimd::min(xsimd::max(words, int16(std::int16_t{-128})), int16(std::int16_t{127})));
        for (int i = 0; i != 2 * lanes; ++i) to[i] = static_cast<std::int8_t>(stored[i]);
    }
    [[gnu::always_inline]] static int32 load_word_lanes(const std::int16_t* from) {
        return load_converted<int32>(from);
    }
    [[gnu::always_inline]] static void widen_lanes(const std::int8_t* from, std::int16_t* to) {
        using codes = typename compiler_vector<std::int8_t, std::size_t{lanes}>::type;
        using words = typename compiler_vector<std::int16_t, std::size_t{lanes}>::type;
        codes loaded;
        std::memcpy(&loaded, from, sizeof loaded);
        const words stored = __builtin_convertvector(loaded, words);
        std::memcpy(to, &stored, sizeof stored);
    }
    [[gnu::always_inline]] static void store_first_words(std::int16_t* to, const int16& words) {
        int32 first, second;
        Derived::widen_words(words, first, second);
        store_converted(to, first);
    }
    [[gnu::always_inline]] static void store_first_codes(std::int8_t* to, const int16& words) {
        int32 first, second;
        Derived::widen_words(words, first, second);
        store_converted(to, first);
    }
    static constexpr bool takes_wide_places = false;
    [[gnu::always_inline]] static auto load_word_table(const std::int16_t* table) {
        if constexpr (Derived::has_byte_lookup)
            return Derived::broadcast16(reinterpret_cast<const std::uint8_t*>(table));
        else return table;
    }
    [[gnu::always_inline]] static auto word_places(const int16& index) {
        // 2 * index and 2 * index + 1, as bytes of the table lie
        constexpr std::int16_t first = is_little ? 256 : 1;
        if constexpr (Derived::has_byte_lookup)
            return uint8(xsimd::bitwise_cast<std::uint8_t>(index * int16(std::int16_t{514}) + int16(first)));
        else return index;
    }
    template <class Table, class Places>
    [[gnu::always_inline]] static int16 look_up_words(const Table& table, const Places& places) {
        if constexpr (Derived::has_byte_lookup) {
            return xsimd::bitwise_cast<std::int16_t>(uint8(Derived::shuffle16(table, places)));
        } else {
            std::int16_t words[2 * lanes];
            store(words, places);
            for (std::int16_t& word : words) word = table[word];
            return load<int16>(words);
        }
    }

    /// As two halves.
    struct wide_sums {
        int32 low, high;
    };
    static constexpr int multiplier_numbers = 1;
    static void put_multiplier(std::int32_t* to, int lane, std::int32_t value) { to[lane] = value; }
    static void put_wide(std::int32_t* to, int lane, std::int64_t value) {
        to[lane] = static_cast<std::int32_t>(value);
        to[lanes + lane] = static_cast<std::int32_t>(value >> 32);
    }
    [[gnu::always_inline]] static wide_sums load_wide(const std::int32_t* from) {
        return {load<int32>(from), load<int32>(from + lanes)};
    }
    [[gnu::always_inline]] static void add_scaled(wide_sums& to, const int32& sums, const std::int32_t* multipliers) {
        using uint32 = batch<std::uint32_t>;
        int32 high, low;
        Derived::multiply_wide(sums, load<int32>(multipliers), high, low);
        const uint32 more = xsimd::bitwise_cast<std::uint32_t>(low),
                     total = xsimd::bitwise_cast<std::uint32_t>(to.low) + more;
        const uint32 carry = xsimd::select(total < more, uint32(1), uint32(0));
        to.low = xsimd::bitwise_cast<std::int32_t>(total);
        to.high += high + xsimd::bitwise_cast<std::int32_t>(carry);
    }
    [[gnu::always_inline]] static int32 shift_wide(const wide_sums& sums, int shift) {
        const auto low = (xsimd::bitwise_cast<std::uint32_t>(sums.low) >> 1) >> (shift - 1);
        return xsimd::bitwise_cast<std::int32_t>(low) | (sums.high << (32 - shift));
    }

protected:
    /// The bits of positive float16 numbers as floats.
    [[gnu::always_inline]] static real widened_halves(const int32& bits) {
        return xsimd::bitwise_cast<float>(bits << 13) * real(0x1p112f);  // exponents were 112 too small
    }
    static constexpr bool is_little = std::endian::native == std::endian::little;
    template <class To, class From> [[gnu::always_inline]] static To bits(const From& from) {
        return __builtin_bit_cast(To, from);
    }
    [[gnu::always_inline]] static std::int32_t four_bytes(const void* from) {
        std::int32_t bytes;
        std::memcpy(&bytes, from, sizeof bytes);
        return bytes;
    }
    [[gnu::always_inline]] static bytes16 load16(const void* from) {
        bytes16 bytes;
        std::memcpy(&bytes, from, sizeof bytes);
        return bytes;
    }
    [[gnu::always_inline]] static void store16(void* to, const bytes16& from) { std::memcpy(to, &from, sizeof from); }

private:
    /// As many values as a `Batch` has lanes, converted.
    template <class Batch, class T> [[gnu::always_inline]] static Batch load_converted(const T* from) {
        typename compiler_vector<T, Batch::size>::type values;
        std::memcpy(&values, from, sizeof values);
        using converted = typename compiler_vector<typename Batch::value_type, Batch::size>::type;
        return bits<Batch>(__builtin_convertvector(values, converted));
    }

    template <class T, class Batch> [[gnu::always_inline]] static void store_converted(T* to, const Batch& from) {
        using values = typename compiler_vector<typename Batch::value_type, Batch::size>::type;
        using converted = typename compiler_vector<T, Batch::size>::type;
        const converted stored = __builtin_convertvector(bits<values>(from), converted);
        std::memcpy(to, &stored, sizeof stored);
    }

    /// Cells are made from 16 bytes of each row, or from 8 where a panel has no more.
    static constexpr int block_cells = Derived::vectors * lanes < 16 ? 8 : 16;
    template <class Body> [[gnu::always_inline]] static void for_each_cells(std::byte* to, Body body) {
        constexpr int width = Derived::vectors * lanes, vectors = block_cells / 4;
        static_assert(width % block_cells == 0, "vector_operations: a panel has a multiple of 8 channels");
        repeat<width / block_cells>([&](int block) __attribute__((always_inline)) {
            bytes16 out[vectors];
            body(block * block_cells, out);
            repeat<vectors>([&](int i)
                                __attribute__((always_inline)) { store16(to + (block * vectors + i) * 16, out[i]); });
        });
    }
    [[gnu::always_inline]] static bytes16 cell_bytes(const std::uint8_t* from) {
        if constexpr (block_cells == 16) {
            return load16(from);
        } else {
            typename compiler_vector<std::uint64_t, 2>::type bytes = {};
            std::uint64_t eight;
            std::memcpy(&eight, from, sizeof eight);
            bytes[0] = eight;
            return bits<bytes16>(bytes);
        }
    }
    /// Bytes [First, First + 8) as words.
    template <int First> [[gnu::always_inline]] static bytes16 zip_zeros(const bytes16& bytes) {
        const bytes16 zeros = {};
        if constexpr (std::endian::native == std::endian::little) return zip<16, First>(bytes, zeros);
        else return zip<16, First>(zeros, bytes);
    }

    /// Keeps registers where they are: for the compiler they are read and written here.
    template <class... Register> [[gnu::always_inline]] static void hold([[maybe_unused]] Register&... registers) {
#if defined(__GNUC__) && !defined(__clang__)
        if constexpr (!(std::is_class_v<Register> || ...)) hold_registers(registers...);
#endif
    }
#if defined(__GNUC__) && !defined(__clang__)
#if defined(__x86_64__) || defined(__i386__)
#define ZEROPOINT_VECTOR_REGISTER "+v"
#elif defined(__aarch64__) || defined(__arm__)
#define ZEROPOINT_VECTOR_REGISTER "+w"
#elif defined(__powerpc__)
#define ZEROPOINT_VECTOR_REGISTER "+v"
#elif defined(__s390x__)
#define ZEROPOINT_VECTOR_REGISTER "+v"
#elif defined(__riscv)
#define ZEROPOINT_VECTOR_REGISTER "+vr"
#endif
#ifdef ZEROPOINT_VECTOR_REGISTER
    template <class R> [[gnu::always_inline]] static void hold_registers(R& a) {
        asm volatile("" : ZEROPOINT_VECTOR_REGISTER(a));
    }
    template <class R> [[gnu::always_inline]] static void hold_registers(R& a, R& b) {
        asm volatile("" : ZEROPOINT_VECTOR_REGISTER(a), ZEROPOINT_VECTOR_REGISTER(b));
    }
    template <class R> [[gnu::always_inline]] static void hold_registers(R& a, R& b, R& c, R& d) {
        asm volatile(""
                     : ZEROPOINT_VECTOR_REGISTER(a), ZEROPOINT_VECTOR_REGISTER(b), ZEROPOINT_VECTOR_REGISTER(c),
                       ZEROPOINT_VECTOR_REGISTER(d));
    }
#undef ZEROPOINT_VECTOR_REGISTER
#else
    template <class... Register> static void hold_registers(Register&...) {}
#endif
#endif
};

}  // namespace zp::inline v0::kernel
