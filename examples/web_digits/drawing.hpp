// SPDX-License-Identifier: BSD-3-Clause
// From the strokes of a pen to the 8 x 8 pixels that the network knows, in the way in which the data set was made.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

using image = std::array<float, 64>;  // 8 x 8 x 1, from 0 (paper) to 1 (ink)

/// A place that the pen came by, in any unit, y downwards. Neighbours with the same `stroke` are joined by a line.
struct pen_point {
    float x, y;
    float stroke;
};

/// The programs that made the data set bring each digit to one size, one slant and one amount of ink, in 32 x 32
/// pixels, and count the ink in blocks of 4 x 4. Measured on its 1,797 images: they fill the height and 20 to 21
/// columns in the middle, ones fewer; 312 pixels are ink in any digit (sigma 34); and the leftmost ink in the first
/// and in the last row of blocks stands in the same column (sigma 0.9 pixels). Within that, the numbers are those
/// that read best.
struct data_set_form {
    static constexpr int side = 32, block = 4;
    static constexpr float width = 21;
    static constexpr int ink = 300;
    static constexpr float widening = 2;  // at most, against the height: a stroke straight down stays one
};

/// 32 x 32 pixels of paper and ink.
class bitmap {
public:
    static constexpr int side = data_set_form::side;

    /// Lays ink wherever the centre of a pixel is at most `radius` from the line a-b.
    void draw_line(const pen_point& a, const pen_point& b, float radius) {
        const float dx = b.x - a.x, dy = b.y - a.y, square = dx * dx + dy * dy;
        for (int y = first(std::min(a.y, b.y) - radius); y < side && centre(y) <= std::max(a.y, b.y) + radius; ++y)
            for (int x = first(std::min(a.x, b.x) - radius); x < side && centre(x) <= std::max(a.x, b.x) + radius;
                 ++x) {
                const float px = centre(x) - a.x, py = centre(y) - a.y;
                const float along = square > 0 ? std::clamp((px * dx + py * dy) / square, 0.0f, 1.0f) : 0.0f;
                const float ex = px - along * dx, ey = py - along * dy;
                if (ex * ex + ey * ey <= radius * radius) inked_[static_cast<std::size_t>(y * side + x)] = true;
            }
    }

    int ink() const { return static_cast<int>(std::count(inked_.begin(), inked_.end(), true)); }

    /// The share of ink in each block of 4 x 4.
    image blocks() const {
        constexpr int block = data_set_form::block, blocks_a_row = side / block;
        image result{};
        for (int y = 0; y != side; ++y)
            for (int x = 0; x != side; ++x)
                if (inked_[static_cast<std::size_t>(y * side + x)])
                    result[static_cast<std::size_t>(y / block * blocks_a_row + x / block)] += 1.0f / (block * block);
        return result;
    }

private:
    static float centre(int pixel) { return static_cast<float>(pixel) + 0.5f; }
    static int first(float edge) { return std::max(0, static_cast<int>(edge)); }

    std::array<bool, side * side> inked_{};
};

/// The drawing sheared so that its first and its last eighth begin in the same column.
inline std::vector<pen_point> upright(std::span<const pen_point> points) {
    const auto [top, bottom] =
        std::minmax_element(points.begin(), points.end(), [](auto& a, auto& b) { return a.y < b.y; });
    const float first = top->y, height = std::max(bottom->y - first, 1e-3f);
    const auto height_of = [&](const pen_point& p) { return (p.y - first) / height; };  // 0 at the top, 1 at the bottom
    constexpr float eighth = static_cast<float>(data_set_form::block) / data_set_form::side;
    float left_above = top->x, left_below = bottom->x;
    for (const pen_point& p : points) {
        if (height_of(p) <= eighth) left_above = std::min(left_above, p.x);
        if (height_of(p) >= 1 - eighth) left_below = std::min(left_below, p.x);
    }
    std::vector<pen_point> result(points.begin(), points.end());
    for (pen_point& p : result) p.x += (left_above - left_below) * height_of(p);
    return result;
}

/// The drawing at the data set's size, by a pen of `thickness` pixels.
inline bitmap draw(std::span<const pen_point> points, float thickness) {
    const auto [left, right] =
        std::minmax_element(points.begin(), points.end(), [](auto& a, auto& b) { return a.x < b.x; });
    const auto [top, bottom] =
        std::minmax_element(points.begin(), points.end(), [](auto& a, auto& b) { return a.y < b.y; });
    const auto factor = [&](float room, float extent) { return (room - thickness) / std::max(extent, 1e-3f); };
    const float widest = factor(data_set_form::width, right->x - left->x);
    const float highest = factor(bitmap::side, bottom->y - top->y);
    const float scale_x = std::min(widest, data_set_form::widening * highest);
    const float scale_y = std::min(highest, data_set_form::widening * widest);
    const float middle_x = (left->x + right->x) / 2, middle_y = (top->y + bottom->y) / 2;
    const auto to_bitmap = [&](const pen_point& p) {
        constexpr float centre = bitmap::side / 2;
        return pen_point{centre + scale_x * (p.x - middle_x), centre + scale_y * (p.y - middle_y), p.stroke};
    };
    bitmap result;
    pen_point last = to_bitmap(points.front());
    for (const pen_point& point : points) {
        const pen_point next = to_bitmap(point);
        result.draw_line(next.stroke == last.stroke ? last : next, next, thickness / 2);
        last = next;
    }
    return result;
}

/// What the network sees of a drawing: all paper, if there is none.
inline image pixels_of(std::span<const pen_point> drawing) {
    if (drawing.empty()) return {};
    const std::vector<pen_point> points = upright(drawing);
    float thin = 1, thick = data_set_form::width - 1;  // ink grows with the pen's thickness: bisection finds it
    for (int i = 0; i != 7; ++i) {
        const float middle = (thin + thick) / 2;
        (draw(points, middle).ink() < data_set_form::ink ? thin : thick) = middle;
    }
    return draw(points, thin).blocks();
}
