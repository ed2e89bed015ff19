// SPDX-License-Identifier: BSD-3-Clause
// The name that was probably meant: for messages about one that is not there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace zp::inline v0 {

/// How many letters must be changed, added, left out or swapped with their neighbour to make one name of the other (optimal string
/// alignment distance). Of names of more than 63 letters the first 63 count.
constexpr int edit_distance(std::string_view a, std::string_view b) {
    constexpr std::size_t most = 63;
    a = a.substr(0, most);
    b = b.substr(0, most);
    int rows[3][most + 1] = {};  // of the letters of `a` so far: of two ago, of one ago, of all
    for (std::size_t j = 0; j <= b.size(); ++j) rows[1][j] = static_cast<int>(j);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        rows[2][0] = static_cast<int>(i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const int changed = rows[1][j - 1] + (a[i - 1] != b[j - 1] ? 1 : 0);
            rows[2][j] = std::min({rows[1][j] + 1, rows[2][j - 1] + 1, changed});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                rows[2][j] = std::min(rows[2][j], rows[0][j - 2] + 1);
        }
        for (std::size_t j = 0; j <= b.size(); ++j) {
            rows[0][j] = rows[1][j];
            rows[1][j] = rows[2][j];
        }
    }
    return rows[1][b.size()];
}

/// Looks for the name that is nearest to one that is wrong: what is as far away as a third of its letters is none.
class name_search {
public:
    constexpr explicit name_search(std::string_view wrong)
        : wrong_(wrong), least_(1 + std::max<int>(1, static_cast<int>(wrong.size()) / 3)) {}
    /// Whether this one is nearer than those before it.
    constexpr bool is_nearer(std::string_view name) {
        const int length = static_cast<int>(name.size()) - static_cast<int>(wrong_.size());
        if (name.empty() || (length < 0 ? -length : length) >= least_) return false;
        const int distance = edit_distance(wrong_, name);
        if (distance >= least_) return false;
        least_ = distance;
        return true;
    }

private:
    std::string_view wrong_;
    int least_;  // what is nearer is less far away than this
};

}  // namespace zp::inline v0
