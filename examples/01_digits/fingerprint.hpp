// Every integer that an int8 network computes over a set of images, in one number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <zeropoint/model/network.hpp>

#include "digits_data.hpp"

/// FNV-1a, 64 bits.
class fnv1a {
public:
    void add(const void* data, std::size_t size) {
        for (const auto* byte = static_cast<const unsigned char*>(data); size != 0; --size)
            hash_ = (hash_ ^ *byte++) * 1099511628211ull;
    }
    std::uint64_t hash() const { return hash_; }

private:
    std::uint64_t hash_ = 14695981039346656037ull;
};

/// The codes of every activation and the bits of the scores, image by image.
template <class Int8> std::uint64_t fingerprint(const Int8& model, std::span<const image> images) {
    fnv1a all;
    typename Int8::workspace memory;
    scores y;
    for (const image& x : images) {
        model.run(x.data(), y.data(), memory.bytes, [&](int i, const void* values) {
            const zp::node& row = model.rows()[static_cast<std::size_t>(i)];
            if (row.kind != zp::op::input)
                all.add(values, static_cast<std::size_t>(row.out.size() * zp::size_of(row.type)));
        });
    }
    return all.hash();
}
