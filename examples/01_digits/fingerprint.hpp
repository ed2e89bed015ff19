// SPDX-License-Identifier: BSD-3-Clause
// Every integer that an int8 network computes over a set of images, in one number.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <zeropoint/model/network.hpp>

/// FNV-1a, 64 bits.
class fnv1a {
public:
    void add(const void* data, std::size_t size) {
        for (const auto* byte = static_cast<const unsigned char*>(data); size != 0; --size)
            hash_ = (hash_ ^ *byte++) * 1099511628211ull;
    }
    /// Numbers of `size` bytes each, least significant byte first, whatever the machine's order.
    void add_numbers(const void* data, std::size_t count, std::size_t size) {
        const auto* bytes = static_cast<const unsigned char*>(data);
        for (std::size_t i = 0; i != count; ++i, bytes += size)
            for (std::size_t b = 0; b != size; ++b)
                add(bytes + (std::endian::native == std::endian::little ? b : size - 1 - b), 1);
    }
    std::uint64_t hash() const { return hash_; }

private:
    std::uint64_t hash_ = 14695981039346656037ull;
};

/// The codes of every activation and the bits of the result, image by image.
template <class Int8, class Images> std::uint64_t fingerprint(const Int8& model, const Images& images) {
    fnv1a all;
    typename Int8::workspace memory;
    std::vector<float> y(static_cast<std::size_t>(Int8::output_shape.size()));
    for (const auto& x : images) {
        model.run(x.data(), y.data(), memory.bytes, [&](int i, const void* values) {
            const zp::node& n = model.rows()[static_cast<std::size_t>(i)];
            if (!n.op->is_input)
                all.add_numbers(values, static_cast<std::size_t>(n.out.extents.size()),
                                static_cast<std::size_t>(zp::size_of(n.out.storage)));
        });
    }
    return all.hash();
}
