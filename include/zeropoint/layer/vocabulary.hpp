// The layers a user composes. Each type knows how many rows it becomes and how to append them; nothing else depends on it.
#pragma once

#include <concepts>
#include <type_traits>

#include <zeropoint/core/fixed_string.hpp>
#include <zeropoint/layer/activations.hpp>
#include <zeropoint/layer/builder.hpp>

namespace zp {
inline namespace v0 {

/// `zp::conv2d<"conv1", zp::conv{.out_channels = 16, .kernel = 3, .padding = 1}>`; parameters "conv1.weight", "conv1.bias".
template <fixed_string Name, conv Options> struct conv2d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.conv2d(x, Name.text, Options); }
};

/// Over a volume: `zp::conv3d<"conv", zp::volume_conv{.out_channels = 16, .kernel = {1, 3, 3}, .padding = {0, 1, 1}}>`. The
/// weight in a file is out_channels x in_channels/groups x depth x height x width.
template <fixed_string Name, volume_conv Options> struct conv3d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.conv3d(x, Name.text, Options); }
};

/// Along a sequence of 1 x length x channels (PyTorch's channels x length): `zp::conv1d<"conv", zp::conv{.out_channels = 8,
/// .kernel = 5, .padding = 2}>`. The weight in a file is out_channels x in_channels/groups x kernel.
template <fixed_string Name, conv Options> struct conv1d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.conv1d(x, Name.text, Options); }
};

/// PyTorch's ConvTranspose2d: `zp::conv_transpose2d<"up", zp::conv_transpose{.out_channels = 16, .kernel = 2, .stride = 2}>`
/// doubles height and width. The weight in a file is in_channels x out_channels/groups x height x width.
template <fixed_string Name, conv_transpose Options> struct conv_transpose2d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.conv_transpose2d(x, Name.text, Options); }
};

/// The same along a sequence of 1 x length x channels. The weight in a file is in_channels x out_channels/groups x kernel.
template <fixed_string Name, conv_transpose Options> struct conv_transpose1d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.conv_transpose1d(x, Name.text, Options); }
};

/// Over a volume: `zp::conv_transpose3d<"up", zp::volume_conv_transpose{.out_channels = 8, .kernel = 2, .stride = 2}>` doubles
/// depth, height and width. The weight in a file is in_channels x out_channels/groups x depth x height x width.
template <fixed_string Name, volume_conv_transpose Options> struct conv_transpose3d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.conv_transpose3d(x, Name.text, Options); }
};

enum class with_bias : bool { no, yes };

/// Fully connected over a vector of 1 x 1 x K, or over each of the vectors of a sequence, 1 x length x K; put zp::flatten
/// in front of an image.
template <fixed_string Name, int Outputs, with_bias Bias = with_bias::yes> struct linear {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.linear(x, Name.text, Outputs, Bias == with_bias::yes); }
};

/// Options of a batch normalization. epsilon is given in millionths, PyTorch's default of 1e-5 being 10.
struct norm {
    int epsilon_millionths = 10;
    bool affine = true;
};

/// y = (x - running_mean) / sqrt(running_var + epsilon) * weight + bias, per channel.
template <fixed_string Name, norm Options = norm{}> struct batch_norm2d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) {
        const auto epsilon = static_cast<float>(Options.epsilon_millionths / 1e6);
        return b.batch_norm(x, Name.text, epsilon, Options.affine);
    }
};
/// The same arithmetic on a vector, after a linear layer.
template <fixed_string Name, norm Options = norm{}> struct batch_norm1d : batch_norm2d<Name, Options> {};
/// And on a volume, behind a conv3d.
template <fixed_string Name, norm Options = norm{}> struct batch_norm3d : batch_norm2d<Name, Options> {};

/// A pooling layer over a window given as `pool{...}`, or as an int for a square window with a stride of the same size.
template <op Kind, auto Options> struct pool2d {
    static_assert(
        std::is_same_v<std::remove_const_t<decltype(Options)>, pool> ||
            std::is_same_v<std::remove_const_t<decltype(Options)>, int>,
        "max_pool2d / avg_pool2d<Options>: Options must be an int such as 2, or a zp::pool{.kernel = 3, .stride = 2}");
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) {
        if constexpr (std::is_same_v<std::remove_const_t<decltype(Options)>, int>)
            return b.pool2d(Kind, x, "", pool{.kernel = Options});
        else return b.pool2d(Kind, x, "", Options);
    }
};
template <auto Options> struct max_pool2d : pool2d<op::max_pool2d, Options> {};
template <auto Options> struct avg_pool2d : pool2d<op::avg_pool2d, Options> {};

/// The same along a sequence of 1 x length x channels.
template <op Kind, auto Options> struct pool1d {
    static_assert(
        std::is_same_v<std::remove_const_t<decltype(Options)>, pool> ||
            std::is_same_v<std::remove_const_t<decltype(Options)>, int>,
        "max_pool1d / avg_pool1d<Options>: Options must be an int such as 2, or a zp::pool{.kernel = 3, .stride = 2}");
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) {
        if constexpr (std::is_same_v<std::remove_const_t<decltype(Options)>, int>)
            return b.pool1d(Kind, x, "", pool{.kernel = Options});
        else return b.pool1d(Kind, x, "", Options);
    }
};
template <auto Options> struct max_pool1d : pool1d<op::max_pool2d, Options> {};
template <auto Options> struct avg_pool1d : pool1d<op::avg_pool2d, Options> {};

/// Pools any input to Height x Width; `adaptive_avg_pool2d<1>` is the global average.
template <int Height, int Width = Height> struct adaptive_avg_pool2d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.adaptive_avg_pool2d(x, "", {Height, Width}); }
};

/// Pools a sequence to Length vectors.
template <int Length> struct adaptive_avg_pool1d : adaptive_avg_pool2d<1, Length> {};

/// An image to a vector. The values keep their order in memory; a linear layer behind it takes its columns, which
/// PyTorch numbers channel by channel, in that order when it is loaded.
struct flatten {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.flatten(x); }
};

}  // namespace v0
}  // namespace zp
