// SPDX-License-Identifier: BSD-3-Clause
// Loading a state dict whose names are not quite the model's: a prefix, other names, tensors that nothing needs.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zeropoint/core/nearest_name.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/io/tensors_in_file.hpp>

namespace zp::inline v0 {

/// `zp::load<net>("model.safetensors", {.prefix = "module."})`: how the names in a state dict become the model's.
struct load_options {
    /// What is in front of all names: "module." of a DataParallel, "model." of a training framework. It is taken off; names without it
    /// stay as they are.
    std::string prefix = {};
    /// {"backbone.stem", "stem"}: a whole name, or what stands in front of a dot of it, and what comes in its place. Behind the prefix; of
    /// several that fit, the first. One that fits nothing is a file_error, with the name that was probably meant.
    std::vector<std::pair<std::string, std::string>> renames = {};
    /// Whether tensors that the model does not have are left aside (PyTorch's strict=False). A tensor that it needs is still an error when
    /// it is missing.
    bool ignores_others = false;
    /// Gets the names of those.
    std::vector<std::string>* ignored = nullptr;
};

namespace detail {

/// Whether `name` is `part`, or begins with it and a dot.
inline bool is_under(std::string_view name, std::string_view part) {
    return name.substr(0, part.size()) == part && (name.size() == part.size() || name[part.size()] == '.');
}

// A template, so that it costs those who call it.
template <class Tensor>
[[gnu::cold]] void change_names(safetensors_file& file, const load_options& options,
                                const std::vector<Tensor>& needed) {
    std::vector<std::string> before;
    bool has_prefix = options.prefix.empty();
    file.rename([&](const std::string& name) {
        const bool begins = !options.prefix.empty() && name.starts_with(options.prefix) && name != options.prefix;
        has_prefix = has_prefix || begins;
        before.push_back(begins ? name.substr(options.prefix.size()) : name);
        return before.back();
    });
    if (!has_prefix)
        raise<file_error>(joined({file.source_name(), ": expected names that begin with the prefix ",
                                  in_quotes(options.prefix), ", found none among ", decimal(file.tensors().size())}));
    for (const std::pair<std::string, std::string>& change : options.renames) {
        const std::string& from = change.first;  // clang 14 captures no binding
        if (std::any_of(before.begin(), before.end(), [&](const auto& name) { return is_under(name, from); })) continue;
        name_search search(from);
        std::string nearest;
        for (const std::string& name : before)
            for (std::size_t end = name.size(); end != std::string::npos && end != 0; end = name.rfind('.', end - 1))
                if (search.is_nearer(std::string_view(name).substr(0, end))) nearest = name.substr(0, end);
        raise<file_error>(joined({file.source_name(), ": the rename of ", in_quotes(from), " fits no tensor",
                                  nearest.empty() ? "" : ": did you mean ",
                                  nearest.empty() ? std::string() : in_quotes(nearest) + "?"}));
    }
    const auto is_needed = [&](const std::string& name) {
        return std::any_of(needed.begin(), needed.end(), [&](const Tensor& one) { return one.name == name; });
    };
    file.rename([&](const std::string& name) {
        std::string changed = name;
        for (const auto& [from, to] : options.renames)
            if (is_under(name, from)) {
                changed = to + name.substr(from.size());
                break;
            }
        if (!options.ignores_others || is_needed(changed)) return changed;
        if (options.ignored != nullptr) options.ignored->push_back(name);
        return std::string();
    });
}

template <class Model> auto load_with(safetensors_file file, const load_options& options) {
    constexpr bool is_model = !requires { typename Model::stage; };
    static_assert(is_model,
                  "load<Model>(path, options): names are changed of state dicts, which become the float network of a "
                  "model; an int8 file has the names that zp::save gave it");
    if constexpr (is_model) {
        change_names(file, options, tensors_in_file<typename float_model<Model>::stage>());
        return read_model<Model>(file);
    }
}

}  // namespace detail

/// zp::load of a float network whose state dict has other names, or more tensors. What is checked is the same.
template <class Model> auto load(const std::string& path, const load_options& options) {
    require_machine();
    return detail::load_with<Model>(safetensors_file::read(path), options);
}
/// The same from bytes in memory.
template <class Model>
auto load(std::span<const std::byte> bytes, const load_options& options, const std::string& name = "model") {
    require_machine();
    return detail::load_with<Model>(safetensors_file::parse(bytes, name), options);
}

}  // namespace zp::inline v0
