// SPDX-License-Identifier: BSD-3-Clause
// A state dict in one mapped file, or in several that an index lists: checkpoints of gigabytes as they are published.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zeropoint/io/json_reader.hpp>
#include <zeropoint/io/mapped_file.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/io/safetensors_reader.hpp>
#include <zeropoint/io/text.hpp>

namespace zp::inline v0 {

namespace detail {
/// The files that an index lists, each once, in the order of their names. Of the index its "weight_map" alone is read: beside it are
/// numbers of any kind, which nothing needs.
template <class = void>
[[gnu::cold]] std::vector<std::string> files_of_index(std::span<const std::byte> bytes, const std::string& path) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    constexpr std::string_view key = "\"weight_map\"";
    const std::size_t at = text.find(key), begin = at == text.npos ? at : text.find('{', at + key.size());
    if (begin == text.npos)
        raise<file_error>(joined({path, ": expected an index with a \"weight_map\" of names and files, found none"}));
    if (valid_utf8_prefix(text) != text.size()) raise<file_error>(joined({path, ": expected UTF-8"}));
    std::vector<std::string> files;
    json_reader reader(text.substr(begin), path, begin);
    reader.object([&](const std::string&) {
        std::string file = reader.string("the name of a file in quotes");
        if (file.find_first_of("/\\") != file.npos)
            reader.fail(joined({"a file in the folder of the index, found ", in_quotes(file)}));
        if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(std::move(file));
    });
    if (files.empty()) raise<file_error>(joined({path, ": expected an index that lists files, found none"}));
    std::sort(files.begin(), files.end());
    return files;
}
}  // namespace detail

/// The tensors of "model.safetensors", or of all files that "model.safetensors.index.json" lists, which are beside it, as
/// `save_pretrained` writes large models. Files are mapped: nothing is read before it is used. Raises file_error.
///
///     const zp::mapped_state_dict dict("model.safetensors.index.json");
///     const auto model = zp::load<decoder>(dict);
///
/// What zp::mapped_file says of files that become shorter holds here too.
class mapped_state_dict {
public:
    explicit mapped_state_dict(const std::string& path) : file_(open(path, maps_)) {}

    /// All tensors as those of one file, as long as this object is there.
    const safetensors_file& file() const noexcept { return file_; }

private:
    [[gnu::cold]] static safetensors_file open(const std::string& path, std::vector<mapped_file>& maps) {
        maps.emplace_back(path);
        if (!path.ends_with(".json")) return safetensors_file::view(maps.back().bytes(), path);
        const std::vector<std::string> files = detail::files_of_index(maps.back().bytes(), path);
        maps.clear();
        const std::size_t slash = path.find_last_of("/\\");
        const std::string folder = slash == path.npos ? std::string() : path.substr(0, slash + 1);
        std::vector<safetensors_file> parts;
        for (const std::string& file : files) {
            maps.emplace_back(folder + file);
            parts.push_back(safetensors_file::view(maps.back().bytes(), folder + file));
        }
        return safetensors_file::join(std::move(parts), path);
    }

    std::vector<mapped_file> maps_;
    safetensors_file file_;
};

/// The float network of a state dict: see zp::load of a path.
template <class Model> auto load(const mapped_state_dict& from) {
    require_machine();
    return detail::read_model<Model>(from.file());
}

}  // namespace zp::inline v0
