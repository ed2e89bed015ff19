// SPDX-License-Identifier: BSD-3-Clause
// A file of golden vectors (scripts/golden/*.py), what its groups hold, and which of its tensors a test has read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/core/shape.hpp>
#include <zeropoint/io/safetensors.hpp>
#include <zeropoint/io/state_dict.hpp>
#include <zeropoint/scheme/qparams.hpp>

namespace zp_test {

inline std::string golden_path(const std::string& name) {
    return ZEROPOINT_SOURCE_DIR "/tests/golden/" + name + ".safetensors";
}

/// The tensors that this program has read so far, by the file's name.
inline std::map<std::string, std::set<std::string>>& tensors_read() {
    static std::map<std::string, std::set<std::string>> all;
    return all;
}

/// The tensors of a file that nobody has read, but those whose names begin with one of `other`. For a test case that runs
/// behind all that read: doctest takes files in the order of their names, and their cases from the first line to the last.
inline std::vector<std::string> unread_tensors(const std::string& name, const std::vector<std::string>& other = {}) {
    std::vector<std::string> unread;
    const auto file = zp::safetensors_file::read(golden_path(name));
    const std::set<std::string>& read = tensors_read()[name];
    for (const zp::file_tensor& tensor : file.tensors()) {
        const auto begins = [&](const std::string& prefix) { return tensor.name.rfind(prefix, 0) == 0; };
        if (read.count(tensor.name) == 0 && std::none_of(other.begin(), other.end(), begins))
            unread.push_back(tensor.name);
    }
    return unread;
}

class golden_file {
public:
    explicit golden_file(const std::string& name) : name_(name), file_(zp::safetensors_file::read(golden_path(name))) {}

    /// The groups whose names begin so and that have a tensor of that name.
    std::vector<std::string> groups(const std::string& prefix, const std::string& last = "codes") const {
        std::vector<std::string> names;
        for (const zp::file_tensor& tensor : file_.tensors()) {
            const std::size_t slash = tensor.name.rfind('/');
            if (tensor.name.rfind(prefix, 0) == 0 && tensor.name.substr(slash + 1) == last)
                names.push_back(tensor.name.substr(0, slash));
        }
        return names;
    }
    /// Those in which it has values of type T.
    template <class T>
    std::vector<std::string> groups(const std::string& prefix, const std::string& last = "codes") const {
        const zp::file_dtype wanted = std::is_same_v<T, float>         ? zp::file_dtype::F32
                                      : std::is_same_v<T, std::int8_t> ? zp::file_dtype::I8
                                                                       : zp::file_dtype::U8;
        std::vector<std::string> names;
        for (const std::string& group : groups(prefix, last))
            if (file_.expect(group + "/" + last).dtype == wanted) names.push_back(group);
        return names;
    }
    bool has(const std::string& name) const { return file_.find(name) != nullptr; }
    template <class T> std::vector<T> values(const std::string& name) const {
        tensors_read()[name_].insert(name);
        return file_.values<T>(file_.expect(name));
    }
    /// What is exact: the other system's codes, unless the group says that they are not.
    template <class T> std::vector<T> exact(const std::string& group) const {
        return values<T>(group + (has(group + "/exact") ? "/exact" : "/codes"));
    }
    /// All tensors below a prefix, for a layer that reads its parameters itself.
    zp::state_dict parameters(const std::string& prefix) const {
        for (const zp::file_tensor& tensor : file_.tensors())
            if (tensor.name.rfind(prefix, 0) == 0 && tensor.name.substr(prefix.size()) != "x" &&
                tensor.name.substr(prefix.size()) != "y")
                tensors_read()[name_].insert(tensor.name);
        return zp::state_dict(file_, prefix);
    }

    zp::file_shape extents(const std::string& name) const { return file_.expect(name).shape; }
    int extent(const std::string& name, std::size_t axis) const { return static_cast<int>(extents(name)[axis]); }
    std::size_t rank(const std::string& name) const { return extents(name).size(); }

    std::vector<zp::qparams> ranges(const std::string& group) const {
        const auto scales = values<float>(group + "/scale");
        const auto zero_points = values<std::int32_t>(group + "/zero_point");
        std::vector<zp::qparams> all;
        for (std::size_t i = 0; i != scales.size(); ++i) all.push_back({scales[i], zero_points[i]});
        return all;
    }
    zp::qparams range(const std::string& group, std::size_t index) const { return ranges(group)[index]; }
    /// Empty where the group has none.
    template <class T = std::int32_t> std::vector<T> options(const std::string& group) const {
        return has(group + "/options") ? values<T>(group + "/options") : std::vector<T>();
    }

    /// The extents of an image [1, C, H, W].
    zp::shape image_shape(const std::string& name) const { return {extent(name, 2), extent(name, 3), extent(name, 1)}; }
    /// An image [1, C, H, W], channels last.
    template <class T> std::vector<T> image(const std::string& name) const {
        return channels_last(values<T>(name), image_shape(name));
    }
    template <class T> static std::vector<T> channels_last(const std::vector<T>& x, const zp::shape& extents) {
        std::vector<T> y(x.size());
        const auto pixels = static_cast<std::size_t>(extents.pixels());
        for (std::size_t i = 0; i != x.size(); ++i)
            y[i % pixels * static_cast<std::size_t>(extents.channels) + i / pixels] = x[i];
        return y;
    }

private:
    std::string name_;
    zp::safetensors_file file_;
};

/// How far codes are from those of another system.
struct deviation {
    int largest = 0;            ///< in codes
    std::size_t differing = 0;  ///< how many are not the same

    template <class T> void add(const std::vector<T>& ours, const std::vector<T>& theirs) {
        if (ours.size() != theirs.size()) largest = 1 << 30;
        for (std::size_t i = 0; i != std::min(ours.size(), theirs.size()); ++i) {
            const int distance = std::abs(static_cast<int>(ours[i]) - static_cast<int>(theirs[i]));
            largest = std::max(largest, distance);
            differing += distance != 0;
        }
    }
};
template <class T> deviation deviation_of(const std::vector<T>& ours, const std::vector<T>& theirs) {
    deviation d;
    d.add(ours, theirs);
    return d;
}

}  // namespace zp_test
