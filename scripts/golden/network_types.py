# SPDX-License-Identifier: BSD-3-Clause
"""The networks of include/zeropoint/models in torch.nn, their parameters named as in torchvision: see networks.py."""

import math

import torch
from torch import nn


def conv_norm(inputs, outputs, kernel=1, stride=1, padding=None, groups=1) -> list[nn.Module]:
    padding = kernel // 2 if padding is None else padding
    return [nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=False), nn.BatchNorm2d(outputs)]


class Lambda(nn.Module):
    """A function without parameters."""

    def __init__(self, function):
        super().__init__()
        self.forward = function


class Residual(nn.Module):
    """A block of ResNet: bottleneck or basic."""

    def __init__(self, inputs, channels, stride, bottleneck, groups, width):
        super().__init__()
        outputs, inner = (4 * channels, channels * width // 64 * groups) if bottleneck else (channels, channels)
        if bottleneck:
            every = [(inputs, inner, 1), (inner, inner, 3, stride, 1, groups), (inner, outputs, 1)]
        else:
            every = [(inputs, channels, 3, stride), (channels, channels, 3)]
        self.depth = len(every)
        for number, options in enumerate(every, 1):
            conv, norm = conv_norm(*options)
            setattr(self, f"conv{number}", conv)
            setattr(self, f"bn{number}", norm)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(*conv_norm(inputs, outputs, 1, stride))

    def forward(self, x):
        y = x
        for number in range(1, self.depth + 1):
            y = getattr(self, f"bn{number}")(getattr(self, f"conv{number}")(y))
            if number != self.depth:
                y = y.relu()
        return (y + (self.downsample(x) if self.downsample else x)).relu()


class ResNet(nn.Module):
    def __init__(self, depths, bottleneck=False, groups=1, width=64, classes=1000):
        super().__init__()
        self.conv1, self.bn1 = conv_norm(3, 64, 7, 2)
        inputs = 64
        for stage, depth in enumerate(depths):
            blocks = []
            for number in range(depth):
                stride = 2 if stage > 0 and number == 0 else 1
                blocks.append(Residual(inputs, 64 << stage, stride, bottleneck, groups, width))
                inputs = (64 << stage) * (4 if bottleneck else 1)
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = nn.functional.max_pool2d(self.bn1(self.conv1(x)).relu(), 3, 2, 1)
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = stage(x)
        return self.fc(x.mean((2, 3)))


class VGG(nn.Module):
    def __init__(self, depths, batch_norm=False, hidden=4096, classes=1000):
        super().__init__()
        layers, inputs = [], 3
        for channels, depth in zip((64, 128, 256, 512, 512), depths):
            for _ in range(depth):
                layers.append(nn.Conv2d(inputs, channels, 3, padding=1))
                layers += [nn.BatchNorm2d(channels)] if batch_norm else []
                layers.append(nn.ReLU())
                inputs = channels
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d(7)
        wide = [nn.Linear(512 * 49, hidden), nn.ReLU(), nn.Dropout(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout()]
        self.classifier = nn.Sequential(*wide, nn.Linear(hidden, classes))

    def forward(self, x):
        return self.classifier(self.pool(self.features(x)).flatten(1))


def divisible(channels: float) -> int:
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        inner = inputs * expansion
        layers = [nn.Sequential(*conv_norm(inputs, inner), nn.ReLU6())] if expansion != 1 else []
        layers.append(nn.Sequential(*conv_norm(inner, inner, 3, stride, groups=inner), nn.ReLU6()))
        self.conv = nn.Sequential(*layers, *conv_norm(inner, outputs))
        self.shortcut = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.conv(x) if self.shortcut else self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self, width=1.0, classes=1000):
        super().__init__()
        inputs = divisible(32 * width)
        layers = [nn.Sequential(*conv_norm(3, inputs, 3, 2), nn.ReLU6())]
        table = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
        for expansion, channels, repetitions, first_stride in table:
            for i in range(repetitions):
                outputs = divisible(channels * width)
                layers.append(InvertedResidual(inputs, outputs, 1 if i else first_stride, expansion))
                inputs = outputs
        last = divisible(1280 * max(1.0, width))
        self.features = nn.Sequential(*layers, nn.Sequential(*conv_norm(inputs, last), nn.ReLU6()))
        self.classifier = nn.Sequential(nn.Dropout(), nn.Linear(last, classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class ConvNormReLU(nn.Module):
    """Of GoogLeNet and Inception: parameters conv and bn, epsilon 1e-3. A pair as kernel keeps the extents."""

    def __init__(self, inputs, outputs, kernel=1, stride=1, padding=0):
        super().__init__()
        if isinstance(kernel, tuple):
            padding = tuple(k // 2 for k in kernel)
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(outputs, eps=0.001)

    def forward(self, x):
        return self.bn(self.conv(x)).relu()


class GoogLeNetModule(nn.Module):
    def __init__(self, inputs, one, before_two, two, before_three, three, four):
        super().__init__()
        self.branch1 = ConvNormReLU(inputs, one)
        self.branch2 = nn.Sequential(ConvNormReLU(inputs, before_two), ConvNormReLU(before_two, two, 3, 1, 1))
        self.branch3 = nn.Sequential(ConvNormReLU(inputs, before_three), ConvNormReLU(before_three, three, 3, 1, 1))
        self.branch4 = nn.Sequential(nn.MaxPool2d(3, 1, 1, ceil_mode=True), ConvNormReLU(inputs, four))

    def forward(self, x):
        return torch.cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


class GoogLeNet(nn.Module):
    MODULES = {
        "inception3a": (192, 64, 96, 128, 16, 32, 32),
        "inception3b": (256, 128, 128, 192, 32, 96, 64),
        "inception4a": (480, 192, 96, 208, 16, 48, 64),
        "inception4b": (512, 160, 112, 224, 24, 64, 64),
        "inception4c": (512, 128, 128, 256, 24, 64, 64),
        "inception4d": (512, 112, 144, 288, 32, 64, 64),
        "inception4e": (528, 256, 160, 320, 32, 128, 128),
        "inception5a": (832, 256, 160, 320, 32, 128, 128),
        "inception5b": (832, 384, 192, 384, 48, 128, 128),
    }

    def __init__(self, classes=1000):
        super().__init__()
        self.conv1 = ConvNormReLU(3, 64, 7, 2, 3)
        self.conv2 = ConvNormReLU(64, 64)
        self.conv3 = ConvNormReLU(64, 192, 3, 1, 1)
        for name, channels in self.MODULES.items():
            setattr(self, name, GoogLeNetModule(*channels))
        self.fc = nn.Linear(1024, classes)

    def forward(self, x):
        x = nn.functional.max_pool2d(self.conv1(x), 3, 2, ceil_mode=True)
        x = nn.functional.max_pool2d(self.conv3(self.conv2(x)), 3, 2, ceil_mode=True)
        for name in self.MODULES:
            x = getattr(self, name)(x)
            if name in ("inception3b", "inception4e"):
                x = nn.functional.max_pool2d(x, 3 if name == "inception3b" else 2, 2, ceil_mode=True)
        return self.fc(x.mean((2, 3)))


class InceptionModule(nn.Module):
    """Branches by name: convolutions in sequence, whose last may be two side by side, then what is pooled."""

    def __init__(self, inputs, branches, pool, pooled=0):
        super().__init__()
        self.branches, self.pool, self.has_conv_behind_pool = [], pool, pooled != 0
        for branch in branches:
            channels, names = inputs, []
            for name, options in branch.items():
                setattr(self, name, ConvNormReLU(channels, *options))
                names.append(name)
                if not name.endswith("a"):
                    channels = options[0]
            self.branches.append(names)
        if pooled:
            self.branch_pool = ConvNormReLU(inputs, pooled)

    def forward(self, x):
        outputs = []
        for names in self.branches:
            y = x
            sides = [name for name in names if name[-1] in "ab"]
            for name in names[: len(names) - len(sides)]:
                y = getattr(self, name)(y)
            outputs += [getattr(self, name)(y) for name in sides] if sides else [y]
        y = nn.functional.avg_pool2d(x, 3, 1, 1) if self.pool == "average" else nn.functional.max_pool2d(x, 3, 2)
        outputs.append(self.branch_pool(y) if self.has_conv_behind_pool else y)
        return torch.cat(outputs, 1)


def inception_a(inputs, pooled):
    five = {"branch5x5_1": (48,), "branch5x5_2": (64, (5, 5))}
    three = {"branch3x3dbl_1": (64,), "branch3x3dbl_2": (96, (3, 3)), "branch3x3dbl_3": (96, (3, 3))}
    return InceptionModule(inputs, [{"branch1x1": (64,)}, five, three], "average", pooled)


def inception_b(inputs):
    three = {"branch3x3dbl_1": (64,), "branch3x3dbl_2": (96, (3, 3)), "branch3x3dbl_3": (96, 3, 2)}
    return InceptionModule(inputs, [{"branch3x3": (384, 3, 2)}, three], "largest")


def inception_c(inputs, inner):
    row, column = (1, 7), (7, 1)
    seven = {"branch7x7_1": (inner,), "branch7x7_2": (inner, row), "branch7x7_3": (192, column)}
    twice = {"branch7x7dbl_1": (inner,), "branch7x7dbl_2": (inner, column), "branch7x7dbl_3": (inner, row)}
    twice |= {"branch7x7dbl_4": (inner, column), "branch7x7dbl_5": (192, row)}
    return InceptionModule(inputs, [{"branch1x1": (192,)}, seven, twice], "average", 192)


def inception_d(inputs):
    three = {"branch3x3_1": (192,), "branch3x3_2": (320, 3, 2)}
    seven = {"branch7x7x3_1": (192,), "branch7x7x3_2": (192, (1, 7)), "branch7x7x3_3": (192, (7, 1))}
    return InceptionModule(inputs, [three, seven | {"branch7x7x3_4": (192, 3, 2)}], "largest")


def inception_e(inputs):
    row, column = (1, 3), (3, 1)
    three = {"branch3x3_1": (384,), "branch3x3_2a": (384, row), "branch3x3_2b": (384, column)}
    twice = {"branch3x3dbl_1": (448,), "branch3x3dbl_2": (384, (3, 3))}
    twice |= {"branch3x3dbl_3a": (384, row), "branch3x3dbl_3b": (384, column)}
    return InceptionModule(inputs, [{"branch1x1": (320,)}, three, twice], "average", 192)


class InceptionV3(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        self.Conv2d_1a_3x3 = ConvNormReLU(3, 32, 3, 2)
        self.Conv2d_2a_3x3 = ConvNormReLU(32, 32, 3)
        self.Conv2d_2b_3x3 = ConvNormReLU(32, 64, (3, 3))
        self.Conv2d_3b_1x1 = ConvNormReLU(64, 80)
        self.Conv2d_4a_3x3 = ConvNormReLU(80, 192, 3)
        self.Mixed_5b, self.Mixed_5c, self.Mixed_5d = inception_a(192, 32), inception_a(256, 64), inception_a(288, 64)
        self.Mixed_6a = inception_b(288)
        self.Mixed_6b, self.Mixed_6c = inception_c(768, 128), inception_c(768, 160)
        self.Mixed_6d, self.Mixed_6e = inception_c(768, 160), inception_c(768, 192)
        self.Mixed_7a = inception_d(768)
        self.Mixed_7b, self.Mixed_7c = inception_e(1280), inception_e(2048)
        self.fc = nn.Linear(2048, classes)

    def forward(self, x):
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x)))
        x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(nn.functional.max_pool2d(x, 3, 2)))
        x = nn.functional.max_pool2d(x, 3, 2)
        for name, module in self.named_children():
            if name.startswith("Mixed"):
                x = module(x)
        return self.fc(x.mean((2, 3)))


class DsCnn(nn.Module):
    class Separable(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.depthwise, self.depthwise_norm = conv_norm(channels, channels, 3, groups=channels)
            self.pointwise, self.pointwise_norm = conv_norm(channels, channels)

        def forward(self, x):
            x = self.depthwise_norm(self.depthwise(x)).relu()
            return self.pointwise_norm(self.pointwise(x)).relu()

    def __init__(self, channels=64, blocks=4, classes=12):
        super().__init__()
        self.conv, self.norm = conv_norm(1, channels, (10, 4), 2, (5, 1))
        self.blocks = nn.Sequential(*[self.Separable(channels) for _ in range(blocks)])
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        return self.fc(self.blocks(self.norm(self.conv(x)).relu()).mean((2, 3)))


class SqueezeAndExcite(nn.Module):
    def __init__(self, channels, squeezed):
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)

    def forward(self, x):
        return x * nn.functional.hardsigmoid(self.fc2(self.fc1(x.mean((2, 3), True)).relu()))


class MobileNetV3(nn.Module):
    """A row of the table: kernel, expanded and output channels, squeeze-and-excite, hardswish, stride."""

    LARGE = [(3, 16, 16, 0, 0, 1), (3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1), (5, 72, 40, 1, 0, 2), (5, 120, 40, 1, 0, 1)]
    LARGE += [(5, 120, 40, 1, 0, 1), (3, 240, 80, 0, 1, 2), (3, 200, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1)]
    LARGE += [(3, 184, 80, 0, 1, 1), (3, 480, 112, 1, 1, 1), (3, 672, 112, 1, 1, 1), (5, 672, 160, 1, 1, 2)]
    LARGE += [(5, 960, 160, 1, 1, 1), (5, 960, 160, 1, 1, 1)]
    SMALL = [(3, 16, 16, 1, 0, 2), (3, 72, 24, 0, 0, 2), (3, 88, 24, 0, 0, 1), (5, 96, 40, 1, 1, 2), (5, 240, 40, 1, 1, 1)]
    SMALL += [(5, 240, 40, 1, 1, 1), (5, 120, 48, 1, 1, 1), (5, 144, 48, 1, 1, 1), (5, 288, 96, 1, 1, 2)]
    SMALL += [(5, 576, 96, 1, 1, 1), (5, 576, 96, 1, 1, 1)]

    class Block(nn.Module):
        def __init__(self, inputs, kernel, inner, outputs, squeezes, hardswish, stride):
            super().__init__()
            activation = [nn.Hardswish() if hardswish else nn.ReLU()]
            parts = [nn.Sequential(*conv_norm(inputs, inner), *activation)] if inner != inputs else []
            parts.append(nn.Sequential(*conv_norm(inner, inner, kernel, stride, groups=inner), *activation))
            parts += [SqueezeAndExcite(inner, divisible(inner // 4))] if squeezes else []
            self.block = nn.Sequential(*parts, nn.Sequential(*conv_norm(inner, outputs)))
            self.shortcut = stride == 1 and inputs == outputs

        def forward(self, x):
            return x + self.block(x) if self.shortcut else self.block(x)

    def __init__(self, table, wide, classes=1000):
        super().__init__()
        layers, inputs = [nn.Sequential(*conv_norm(3, 16, 3, 2), nn.Hardswish())], 16
        for kernel, inner, outputs, squeezes, hardswish, stride in table:
            layers.append(self.Block(inputs, kernel, inner, outputs, squeezes, hardswish, stride))
            inputs = outputs
        layers.append(nn.Sequential(*conv_norm(inputs, 6 * inputs), nn.Hardswish()))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Linear(6 * inputs, wide), nn.Hardswish(), nn.Dropout(), nn.Linear(wide, classes)
        )
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eps = 0.001

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class ShuffleNetV2(nn.Module):
    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            half = outputs // 2
            self.branch1 = nn.Sequential()
            if stride == 2:
                first = [*conv_norm(inputs, inputs, 3, 2, groups=inputs), *conv_norm(inputs, half), nn.ReLU()]
                self.branch1 = nn.Sequential(*first)
            second = [*conv_norm(inputs if stride == 2 else half, half), nn.ReLU()]
            second += [*conv_norm(half, half, 3, stride, groups=half), *conv_norm(half, half), nn.ReLU()]
            self.branch2 = nn.Sequential(*second)

        def forward(self, x):
            left, right = (x, x) if len(self.branch1) else x.chunk(2, 1)
            return nn.functional.channel_shuffle(torch.cat([self.branch1(left), self.branch2(right)], 1), 2)

    def __init__(self, channels, last, classes=1000):
        super().__init__()
        self.conv1 = nn.Sequential(*conv_norm(3, 24, 3, 2), nn.ReLU())
        inputs = 24
        for stage, blocks in enumerate((4, 8, 4)):
            outputs, parts = channels << stage, []
            for number in range(blocks):
                parts.append(self.Block(inputs, outputs, 1 if number else 2))
                inputs = outputs
            setattr(self, f"stage{stage + 2}", nn.Sequential(*parts))
        self.conv5 = nn.Sequential(*conv_norm(inputs, last), nn.ReLU())
        self.fc = nn.Linear(last, classes)

    def forward(self, x):
        x = nn.functional.max_pool2d(self.conv1(x), 3, 2, 1)
        return self.fc(self.conv5(self.stage4(self.stage3(self.stage2(x)))).mean((2, 3)))


class UNet(nn.Module):
    class DoubleConv(nn.Module):
        def __init__(self, inputs, inner, outputs):
            super().__init__()
            first, second = conv_norm(inputs, inner, 3), conv_norm(inner, outputs, 3)
            self.double_conv = nn.Sequential(*first, nn.ReLU(), *second, nn.ReLU())

        def forward(self, x):
            return self.double_conv(x)

    def __init__(self, inputs, classes, width=64, transposed=False):
        super().__init__()
        halves = 1 if transposed else 2  # bilinear upsampling keeps channels, so the layer in front gives half of them
        self.inc = self.DoubleConv(inputs, width, width)
        for level in range(1, 5):
            before, after = width << (level - 1), (width << level) // (halves if level == 4 else 1)
            down, up = nn.Module(), nn.Module()
            down.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), self.DoubleConv(before, after, after))
            setattr(self, f"down{level}", down)
            before, after = width << (5 - level), (width << (4 - level)) // (1 if level == 4 else halves)
            up.conv = self.DoubleConv(before, before // 2, after)
            if transposed:
                up.up = nn.ConvTranspose2d(before, before // 2, 2, 2)
            setattr(self, f"up{level}", up)
        self.outc = nn.Module()
        self.outc.conv = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        levels = [self.inc(x)]
        for down in (self.down1, self.down2, self.down3, self.down4):
            levels.append(down.maxpool_conv(levels[-1]))
        x = levels.pop()
        for up in (self.up1, self.up2, self.up3, self.up4):
            if hasattr(up, "up"):
                x = up.up(x)
            else:
                x = nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)
            x = up.conv(torch.cat([levels.pop(), x], 1))
        return self.outc.conv(x)


class BertEncoder(nn.Module):
    """Takes and gives [batch, channels, 1, length], as the other networks."""

    class Layer(nn.Module):
        def __init__(self, channels, heads, inner):
            super().__init__()
            self.heads, self.attention, self.intermediate, self.output = heads, nn.Module(), nn.Module(), nn.Module()
            self.attention.self, self.attention.output = nn.Module(), nn.Module()
            for name in ("query", "key", "value"):
                setattr(self.attention.self, name, nn.Linear(channels, channels))
            self.attention.output.dense = nn.Linear(channels, channels)
            self.attention.output.LayerNorm = nn.LayerNorm(channels, eps=1e-12)
            self.intermediate.dense = nn.Linear(channels, inner)
            self.output.dense = nn.Linear(inner, channels)
            self.output.LayerNorm = nn.LayerNorm(channels, eps=1e-12)

        def forward(self, x):
            parts = self.attention.self
            q, k, v = (
                part(x).unflatten(2, (self.heads, -1)).transpose(1, 2) for part in (parts.query, parts.key, parts.value)
            )
            y = ((q @ k.transpose(2, 3)) / math.sqrt(q.shape[3])).softmax(3) @ v
            y = self.attention.output.dense(y.transpose(1, 2).flatten(2))
            x = self.attention.output.LayerNorm(y + x)
            y = self.output.dense(nn.functional.gelu(self.intermediate.dense(x)))
            return self.output.LayerNorm(y + x)

    def __init__(self, channels=384, layers=6, heads=12):
        super().__init__()
        self.layer = nn.Sequential(*[self.Layer(channels, heads, 4 * channels) for _ in range(layers)])

    def forward(self, x):
        return self.layer(x[:, :, 0].transpose(1, 2)).transpose(1, 2)[:, :, None]
