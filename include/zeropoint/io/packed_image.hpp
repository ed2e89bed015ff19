// SPDX-License-Identifier: BSD-3-Clause
// Packed images: a network's parameters as one architecture has them in memory, to be run where they lie, in flash for
// instance. No heap, no exceptions, no streams: what is made of them is in packed_image_writer.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <zeropoint/io/signature_v1.hpp>
#include <zeropoint/model/network.hpp>
#include <zeropoint/model/parameter_memory.hpp>
#include <zeropoint/version.hpp>

namespace zp::inline v0 {

/// The first 64 bytes of an image, in the byte order of the machine that runs it. Behind it: scale and zero point of each
/// range, and from the next 64-byte boundary on the parameter block.
struct packed_image_header {
    char magic[8];                  ///< "zp image"
    std::uint32_t format;           ///< packed_image_format; in another byte order another number
    std::uint32_t bytes;            ///< of the whole image
    std::uint64_t signature;        ///< of the network: see signature_v1.hpp
    std::uint64_t layout;           ///< of what lies where: packed_layout_of
    std::uint32_t architecture;     ///< a hash of its name
    std::uint32_t ranges;           ///< how many
    std::uint32_t parameters_at;    ///< in bytes from the begin
    std::uint32_t parameter_bytes;  ///< of the block
    std::uint32_t checksum;         ///< FNV-1a over the bytes behind the header
    std::uint32_t unused[3];        ///< zeros
};
static_assert(sizeof(packed_image_header) == buffer_alignment && std::is_trivially_copyable_v<packed_image_header>);

inline constexpr std::uint32_t packed_image_format = 2;

/// Why bytes are no image that a network can run from.
enum class image_problem : std::uint8_t {
    none,
    misaligned,
    too_short,
    no_image,
    other_format,
    other_architecture,
    other_network,
    other_layout,
    other_machine
};
/// The sentence for people. Programs without it do not hold the sentences.
constexpr const char* text_of(image_problem problem) noexcept {
    switch (problem) {
        case image_problem::none: return "a packed image of this network";
        case image_problem::misaligned:
            return "expected an image at a 64-byte boundary; embed it with zeropoint_embed(), or align what holds it";
        case image_problem::too_short: return "expected more bytes: the image is cut off, or is not all of it embedded";
        case image_problem::no_image:
            return "expected a packed image, as zp::packed_image makes it; a safetensors file is loaded by zp::load";
        case image_problem::other_format:
            return "the image was packed for another byte order or by another zeropoint; pack it again";
        case image_problem::other_architecture:
            return "the image was packed for another architecture; pack it for that of the program";
        case image_problem::other_network:
            return "the image was packed from a network with other layers, or under another qconfig";
        case image_problem::other_layout:
            return "the image was packed by another version of zeropoint, or with other algorithms; pack it again";
        case image_problem::other_machine: return "this machine has not the instructions of the image's architecture";
    }
    return "";
}

namespace detail {

constexpr std::uint32_t hash_of_bytes(std::uint32_t hash, std::uint32_t byte) { return (hash ^ byte) * 16777619u; }
constexpr std::uint32_t hash_of_text(const char* text) {
    std::uint32_t hash = 2166136261u;
    for (; *text != 0; ++text) hash = hash_of_bytes(hash, static_cast<unsigned char>(*text));
    return hash;
}
inline std::uint32_t checksum_of(std::span<const std::byte> bytes) noexcept {
    std::uint32_t hash = 2166136261u;
    for (const std::byte byte : bytes) hash = hash_of_bytes(hash, std::to_integer<std::uint32_t>(byte));
    return hash;
}

/// The number that files of a stage carry.
template <class Stage> constexpr std::uint64_t packed_signature_of() {
    if constexpr (requires { Stage::written; }) return signature_of_nodes<Stage, Stage::written>;
    else return signature_of_nodes<Stage, Stage::loose>;
}
/// Of what a block's bytes depend on beside the network: the library's version, algorithms, places.
template <class Stage> constexpr std::uint64_t packed_layout_of() {
    word_hash hash;
    for (const int number : {ZEROPOINT_VERSION_MAJOR, ZEROPOINT_VERSION_MINOR, ZEROPOINT_VERSION_PATCH})
        hash.mix(std::int64_t{number});
    for (const node& n : Stage::table.nodes) {
        hash.mix(static_cast<std::int64_t>(n.by.algorithm));
        hash.mix(std::int64_t{n.weights.packed_int16});
        hash.mix(std::int64_t{n.at.parameter_offset});
        hash.mix(std::int64_t{n.at.parameter_bytes});
    }
    return hash.value();
}

}  // namespace detail

/// What the header of a network's image says; all of it but the checksum is known when the program is compiled.
template <class Stage> constexpr packed_image_header packed_header_of() {
    static_assert(sizeof(qparams) == 8 && std::is_trivially_copyable_v<qparams>);
    constexpr auto ranges = static_cast<std::size_t>(Stage::table.qparams_count);
    constexpr std::size_t at = align_up(sizeof(packed_image_header) + sizeof(qparams) * ranges);
    constexpr auto block = static_cast<std::size_t>(Stage::table.parameter_bytes);
    return {{'z', 'p', ' ', 'i', 'm', 'a', 'g', 'e'},
            packed_image_format,
            static_cast<std::uint32_t>(at + block),
            detail::packed_signature_of<Stage>(),
            detail::packed_layout_of<Stage>(),
            detail::hash_of_text(name_of<typename Stage::architecture>()),
            static_cast<std::uint32_t>(ranges),
            static_cast<std::uint32_t>(at),
            static_cast<std::uint32_t>(block),
            0,
            {}};
}

/// An int8 network that runs from a packed image where that lies. It is a few pointers: no memory is allocated for it,
/// nothing is copied or packed, and the image may be in flash. `Model` is a `zp::quantized<...>` or a
/// `zp::dynamically_quantized<...>`, for the architecture that the program runs on.
///
///     const zp::in_place<int8_net> model(image);  // which outlives it, at a 64-byte boundary
///     if (!model) return stop(zp::text_of(model.problem()));
///     model(x, y, memory);
template <class Model> class in_place : public network<placed_stage<typename Model::stage>> {
    using stage_of_model = typename Model::stage;
    static_assert(
        requires { stage_of_model::arithmetic; },
        "in_place<Model>: Model must be an int8 network, zp::quantized<...> or zp::dynamically_quantized<...>");
    using base = network<placed_stage<stage_of_model>>;

public:
    /// The bytes of the image of this network: `static_assert(image.size() == int8_net::image_bytes)`.
    static constexpr std::size_t image_bytes = packed_header_of<stage_of_model>().bytes;

    /// Looks at the header alone; is_intact() looks at all bytes.
    explicit in_place(std::span<const std::byte> image) noexcept : in_place(image, problem_of(image)) {}

    /// Why the image cannot be run from, or none.
    image_problem problem() const noexcept { return problem_; }
    /// Whether it can be called. A call without looking is undefined where there is a problem.
    explicit operator bool() const noexcept { return problem_ == image_problem::none; }

    /// Whether no byte of the image that anything reads has changed since it was packed: false for flash that lost some.
    bool is_intact() const noexcept {
        if (problem_ != image_problem::none) return false;
        packed_image_header header;
        std::memcpy(&header, image_, sizeof header);
        return header.checksum == detail::checksum_of({image_ + sizeof header, image_bytes - sizeof header});
    }

    /// The same of bytes, without making a network of them.
    static image_problem problem_of(std::span<const std::byte> image) noexcept {
        constexpr packed_image_header expected = packed_header_of<stage_of_model>();
        if (!machine_has<typename stage_of_model::architecture>()) return image_problem::other_machine;
        packed_image_header found;
        if (image.size() < sizeof found) return image_problem::too_short;
        std::memcpy(&found, image.data(), sizeof found);
        if (std::memcmp(found.magic, expected.magic, sizeof found.magic) != 0) return image_problem::no_image;
        if (found.format != expected.format) return image_problem::other_format;
        if (found.architecture != expected.architecture) return image_problem::other_architecture;
        if (found.signature != expected.signature) return image_problem::other_network;
        if (found.layout != expected.layout || found.bytes != expected.bytes || found.ranges != expected.ranges ||
            found.parameters_at != expected.parameters_at || found.parameter_bytes != expected.parameter_bytes)
            return image_problem::other_layout;
        if (image.size() < found.bytes) return image_problem::too_short;
        if (reinterpret_cast<std::uintptr_t>(image.data()) % buffer_alignment != 0) return image_problem::misaligned;
        return image_problem::none;
    }

private:
    in_place(std::span<const std::byte> image, image_problem problem) noexcept
        : base(problem == image_problem::none ? image.data() + packed_header_of<stage_of_model>().parameters_at
                                              : nullptr,
               problem == image_problem::none
                   ? reinterpret_cast<const qparams*>(image.data() + sizeof(packed_image_header))
                   : nullptr),
          image_(image.data()),
          problem_(problem) {}

    const std::byte* image_;
    image_problem problem_;
};

}  // namespace zp::inline v0
