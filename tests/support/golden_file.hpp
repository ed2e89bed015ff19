// A file of golden vectors (scripts/golden/operators_*.py), and what its groups hold.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/io/safetensors.hpp>
#include <zeropoint/scheme/qparams.hpp>

namespace zp_test {

class golden_file {
public:
    explicit golden_file(const std::string& name)
        : file_(zp::safetensors_file::read(ZEROPOINT_SOURCE_DIR "/tests/golden/" + name + ".safetensors")) {}

    /// The groups whose names begin so and that hold codes of type T.
    template <class T> std::vector<std::string> groups(const std::string& prefix) const {
        const zp::file_dtype wanted = std::is_signed_v<T> ? zp::file_dtype::I8 : zp::file_dtype::U8;
        std::vector<std::string> names;
        for (const zp::file_tensor& tensor : file_.tensors()) {
            const std::size_t slash = tensor.name.rfind('/');
            if (tensor.name.rfind(prefix, 0) == 0 && tensor.name.substr(slash) == "/codes" && tensor.dtype == wanted)
                names.push_back(tensor.name.substr(0, slash));
        }
        return names;
    }
    template <class T> std::vector<T> values(const std::string& name) const {
        return file_.values<T>(file_.expect(name));
    }
    /// What is exact: the other system's codes, unless the group says that they are not.
    template <class T> std::vector<T> exact(const std::string& group) const {
        return values<T>(group + (file_.find(group + "/exact") != nullptr ? "/exact" : "/codes"));
    }
    zp::file_shape extents(const std::string& name) const { return file_.expect(name).shape; }
    zp::qparams range(const std::string& group, std::size_t index) const {
        return {values<float>(group + "/scale")[index], values<std::int32_t>(group + "/zero_point")[index]};
    }

private:
    zp::safetensors_file file_;
};

}  // namespace zp_test
