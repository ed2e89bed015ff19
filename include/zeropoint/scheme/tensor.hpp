// SPDX-License-Identifier: BSD-3-Clause
// Activations with what is needed to read them: dtype in the type, extents and qparams in the value.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/core/dtype.hpp>
#include <zeropoint/core/error.hpp>
#include <zeropoint/core/shape.hpp>
#include <zeropoint/scheme/qparams.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp::inline v0 {

/// The sentences for a tensor of one dtype passed where another is due. Constructors that would otherwise not exist use
/// them, so that the error names the step that was forgotten.
template <class From, class To> constexpr void require_same_dtype() {
    static_assert(From::quantized || !To::quantized,
                  "tensor_view<DType>: a float32 tensor came where a quantized one is due: its values have no scale "
                  "and zero point yet, quantize it first (zp::quantize)");
    static_assert(!From::quantized || To::quantized,
                  "tensor_view<DType>: a quantized tensor came where a float32 one is due: its codes are not its "
                  "values, dequantize it first (zp::dequantize)");
    static_assert(!From::quantized || !To::quantized,
                  "tensor_view<DType>: a tensor of another quantized dtype came: its codes mean other values, "
                  "requantize it first (zp::dequantize, then zp::quantize)");
}

/// How codes read as real numbers; float32 needs nothing.
template <bool Quantized> struct tensor_quantization { qparams quantization{}; };
template <> struct tensor_quantization<false> {};

template <class DType> class tensor_view;
template <class DType> class mutable_tensor_view;
template <class DType> class tensor;

/// Another tensor type whose dtype is not DType, and what it is.
template <class T> struct dtype_of_tensor { using type = void; };
template <class D> struct dtype_of_tensor<tensor_view<D>> { using type = D; };
template <class D> struct dtype_of_tensor<mutable_tensor_view<D>> { using type = D; };
template <class D> struct dtype_of_tensor<tensor<D>> { using type = D; };
template <class T, class DType>
concept tensor_of_another_dtype =
    dtype<typename dtype_of_tensor<T>::type> && !std::is_same_v<typename dtype_of_tensor<T>::type, DType>;

/// Pointer and extents, and for quantized dtypes `quantization`, the scale and zero point. The base of both views.
template <class DType, class Value> class basic_tensor_view : public tensor_quantization<DType::quantized> {
public:
    /// Of nothing: no values, extents of 0.
    constexpr basic_tensor_view() noexcept = default;
    constexpr basic_tensor_view(Value* data, zp::shape extents) noexcept requires(!DType::quantized)
        : data_(data), extents_(extents) {}
    constexpr basic_tensor_view(Value* data, zp::shape extents, qparams params) noexcept requires(DType::quantized)
        : tensor_quantization<true>{params}, data_(data), extents_(extents) {}

    /// The first value; rows of pixels follow each other without gaps.
    constexpr Value* data() const noexcept { return data_; }
    /// Height x width x channels.
    constexpr zp::shape shape() const noexcept { return extents_; }
    /// How many values.
    constexpr std::size_t size() const noexcept { return static_cast<std::size_t>(extents_.size()); }
    /// All of them.
    constexpr std::span<Value> values() const noexcept { return {data_, size()}; }

private:
    Value* data_ = nullptr;
    zp::shape extents_{};
};

/// One image that is only read: height x width x channels, channels innermost, `DType::storage` each. It owns nothing.
/// Made of a pointer and extents, and for quantized dtypes the qparams as third argument.
template <class DType> class tensor_view : public basic_tensor_view<DType, const typename DType::storage> {
    static_assert(dtype<DType>,
                  "tensor_view<DType>: DType must be zp::float32 or a quantized dtype such as zp::quint8");

public:
    using basic_tensor_view<DType, const typename DType::storage>::basic_tensor_view;
    /// A tensor of another dtype does not compile: the message names both.
    template <class Other>
        requires tensor_of_another_dtype<Other, DType>
    constexpr tensor_view(const Other&) noexcept {
        require_same_dtype<typename dtype_of_tensor<Other>::type, DType>();
    }  // NOLINT(google-explicit-constructor)
};

/// The same for a tensor that is written. Converts to tensor_view.
template <class DType> class mutable_tensor_view : public basic_tensor_view<DType, typename DType::storage> {
    static_assert(dtype<DType>,
                  "mutable_tensor_view<DType>: DType must be zp::float32 or a quantized dtype such as zp::quint8");

public:
    using basic_tensor_view<DType, typename DType::storage>::basic_tensor_view;
    /// A tensor of another dtype does not compile: the message names both.
    template <class Other>
        requires tensor_of_another_dtype<Other, DType>
    constexpr mutable_tensor_view(const Other&) noexcept {
        require_same_dtype<typename dtype_of_tensor<Other>::type, DType>();
    }  // NOLINT(google-explicit-constructor)

    /// The same values, to be read.
    constexpr operator tensor_view<DType>()
        const noexcept {  // NOLINT(google-explicit-constructor): reading is always allowed
        if constexpr (DType::quantized) return {this->data(), this->shape(), this->quantization};
        else return {this->data(), this->shape()};
    }
};

/// A tensor that owns its values: zeros (codes of 0) at a 64-byte boundary. Converts to both views.
template <class DType> class tensor : public tensor_quantization<DType::quantized> {
    static_assert(dtype<DType>, "tensor<DType>: DType must be zp::float32 or a quantized dtype such as zp::quint8");

public:
    using storage = typename DType::storage;

    /// Of floats.
    explicit tensor(zp::shape extents) requires(!DType::quantized) : buffer_(bytes(extents)), extents_(extents) {}
    tensor(zp::shape extents, qparams params) requires(DType::quantized)
        : tensor_quantization<true>{params}, buffer_(bytes(extents)), extents_(extents) {}

    /// The first value, at a multiple of 64 bytes.
    storage* data() noexcept { return reinterpret_cast<storage*>(buffer_.data()); }
    const storage* data() const noexcept { return reinterpret_cast<const storage*>(buffer_.data()); }
    /// Height x width x channels.
    zp::shape shape() const noexcept { return extents_; }
    /// How many values.
    std::size_t size() const noexcept { return static_cast<std::size_t>(extents_.size()); }
    /// All of them.
    std::span<storage> values() noexcept { return {data(), size()}; }
    std::span<const storage> values() const noexcept { return {data(), size()}; }

    /// To be read.
    operator tensor_view<DType>() const noexcept {  // NOLINT(google-explicit-constructor)
        if constexpr (DType::quantized) return {data(), extents_, this->quantization};
        else return {data(), extents_};
    }
    /// To be written.
    operator mutable_tensor_view<DType>() noexcept {  // NOLINT(google-explicit-constructor)
        if constexpr (DType::quantized) return {data(), extents_, this->quantization};
        else return {data(), extents_};
    }

private:
    static std::size_t bytes(const zp::shape& extents) {
        if (extents.height < 1 || extents.width < 1 || extents.channels < 1 || extents.depth < 1)
            raise<shape_error>("tensor: expected positive extents, got " + to_string(extents));
        return static_cast<std::size_t>(extents.size()) * sizeof(storage);
    }

    aligned_buffer buffer_;
    zp::shape extents_;
};

/// Weights that are only read, in the library's own layout: [out_channels][kernel_height][kernel_width][in_channels /
/// groups] for convolutions (OHWI), [outputs][inputs] for linear layers. `channels` holds one qparams an output
/// channel, or a single one.
template <quantized_dtype DType> struct weight_view {
    std::span<const typename DType::storage> values;  // the codes
    std::span<const qparams> channels;                // one for all, or one an output channel

    /// That of an output channel.
    constexpr const qparams& channel(std::size_t c) const { return channels[channels.size() == 1 ? 0 : c]; }
};

/// Values to codes, by the output's qparams; codes to values, by the input's. A shape_error when the extents differ.
template <quantized_dtype DType> void quantize(const tensor_view<float32>& from, const mutable_tensor_view<DType>& to) {
    if (from.shape() != to.shape())
        raise<shape_error>("quantize: input is " + to_string(from.shape()) + ", output " + to_string(to.shape()));
    quantize<DType>(from.values(), to.quantization, to.values());
}
/// Codes to values, by the input's qparams. A shape_error for other extents.
template <quantized_dtype DType>
void dequantize(const tensor_view<DType>& from, const mutable_tensor_view<float32>& to) {
    if (from.shape() != to.shape())
        raise<shape_error>("dequantize: input is " + to_string(from.shape()) + ", output " + to_string(to.shape()));
    dequantize<DType>(from.values(), from.quantization, to.values());
}

}  // namespace zp::inline v0
