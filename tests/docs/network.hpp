// SPDX-License-Identifier: BSD-3-Clause
// The network that the pages of docs/ speak of, and files with made-up parameters and images for it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <zeropoint/zeropoint.hpp>

#include "../support/made_up.hpp"

// clang-format off
// [network]
struct digits_cnn : zp::model<zp::input<8, 8, 1>,
    zp::conv2d<"conv1", zp::conv{.out_channels = 16, .kernel = 3, .padding = 1}>, zp::batch_norm2d<"bn1">, zp::relu,
    zp::residual<zp::conv2d<"conv2", zp::conv{.out_channels = 16, .kernel = 3, .padding = 1}>, zp::relu>,
    zp::max_pool2d<2>, zp::flatten, zp::linear<"fc", 10>> {};
// [/network]

// [qconfig]
struct my_qconfig : zp::qconfig<
    zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::histogram_observer<>>,
    zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
// [/qconfig]
// clang-format on

/// A folder of files for one test case, removed behind it.
class scratch_folder {
public:
    explicit scratch_folder(const std::string& name)
        : path_(std::filesystem::temp_directory_path() / ("zeropoint_docs_" + name)) {
        std::filesystem::create_directories(path_);
        zp::save(made_up::network<digits_cnn>(), file("digits_cnn.safetensors"));
    }
    ~scratch_folder() { std::filesystem::remove_all(path_); }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;

    std::string file(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};
