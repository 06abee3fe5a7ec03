"""Networks that see images: convolutions before the hidden layers, and virtual batch normalisation.

The convolutions are A3C's (Mnih et al. 2016, section 5.1): 16 of 8 x 8 with stride 4, 32 of 4 x 4 with stride 2. With a
hidden layer of 256 and six actions there are 677,686 parameters. Images of less than 20 pixels have MinAtar's (Young
and Tian 2019): 16 of 3 x 3.

Virtual batch normalisation (Salimans et al. 2016, 2017): what enters an activation is normalised by its mean and
variance over a fixed reference batch, which are computed anew for each vector of parameters. The batch is at the
end of a policy's vector, two bytes in each number, so that whoever has the vector has the batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from erlbench.policy.spec import PolicySpec

Convolutions = tuple[tuple[int, int, int], ...]  # channels, pixels of a side, stride
A3C: Convolutions = ((16, 8, 4), (32, 4, 2))
MINATAR: Convolutions = ((16, 3, 1),)
SMALLEST = 20  # pixels of a side that A3C's take
EPSILON = 1e-3  # added to the variance, as in OpenAI-ES's public code


def choose_convolutions(image: Sequence[int]) -> Convolutions:
    """The convolutions for an image `(channels, height, width)`, by its size."""
    return A3C if min(image[1:]) >= SMALLEST else MINATAR


def feature_shape(image: Sequence[int]) -> tuple[int, int, int]:
    """Channels, height and width behind the convolutions; `ValueError` for an image that is too small."""
    channels, height, width = image
    for outputs, side, stride in choose_convolutions(image):
        channels, height, width = outputs, (height - side) // stride + 1, (width - side) // stride + 1
    if min(height, width) < 1:
        raise ValueError(f"an image of {image[1]} x {image[2]} is too small for the convolutions")
    return channels, height, width


def reference_size(image: Sequence[int], frames: int) -> int:
    """How many numbers of a vector a reference batch takes."""
    return -(-frames * math.prod(image) // 2)


def pack_frames(frames: np.ndarray) -> np.ndarray:
    """A batch `(frames, channels, height, width)` of bytes as numbers of a vector, float32 `(reference_size,)`."""
    flat = frames.ravel()
    pairs = np.append(flat, np.zeros(flat.size % 2, np.uint8)).reshape(-1, 2).astype(np.float32)
    return np.asarray(256 * pairs[:, 0] + pairs[:, 1], np.float32)


def unpack_frames(numbers: np.ndarray, image: Sequence[int], frames: int) -> np.ndarray:
    """The batch of `pack_frames`. Raises `ValueError` for numbers that are none of its."""
    if not ((numbers >= 0) & (numbers < 65_536) & (numbers % 1 == 0)).all():
        raise ValueError("the reference batch has numbers that are no pairs of bytes")
    pairs = numbers.astype(np.uint16)
    flat = np.stack([pairs >> 8, pairs & 255], axis=1).astype(np.uint8).ravel()
    return flat[: frames * math.prod(image)].reshape(frames, *image)


class ImageNetwork:
    """A policy's network with given parameters, for one image at a time; torch computes it."""

    def __init__(
        self, spec: PolicySpec, tensors: dict[str, np.ndarray], observation: np.ndarray, output: np.ndarray
    ) -> None:
        """`observation`: uint8 `(channels * height * width,)`, where the images appear; `output` `(outputs,)`."""
        import torch

        self._torch, self._output = torch, output
        self._image = torch.from_numpy(observation.reshape(1, *spec.image))
        self._strides = [stride for _, _, stride in choose_convolutions(spec.image)]
        self._activation = {"relu": torch.relu_, "tanh": torch.tanh_}.get(
            spec.activation, torch.nn.functional.leaky_relu
        )
        arrays = {name: torch.from_numpy(array.copy()) for name, array in tensors.items() if name != "reference"}
        names = dict.fromkeys(name.rpartition(".")[0] for name in arrays)
        self._layers = [(arrays[f"{name}.weight"], arrays.get(f"{name}.bias")) for name in names]
        weight, bias = self._layers[0]
        self._layers[0] = weight / 255, bias  # of bytes
        if spec.reference:
            frames = unpack_frames(tensors["reference"], spec.image, spec.reference)
            with torch.inference_mode():
                self._normalise(torch.from_numpy(frames).float())

    def __call__(self) -> None:
        """Write the outputs for the image."""
        with self._torch.inference_mode():
            x = self._image.float()
            for place in range(len(self._layers) - 1):
                x = self._activation(self._layer(place, x))
            self._output[...] = self._layer(-1, x)[0].numpy()

    def _layer(self, place: int, x: Any) -> Any:
        weight, bias = self._layers[place]
        if weight.dim() == 4:
            return self._torch.nn.functional.conv2d(x, weight, bias, self._strides[place])
        return self._torch.nn.functional.linear(x.flatten(1), weight, bias)

    def _normalise(self, x: Any) -> None:
        """Divide each layer but the last by its deviation over a batch `x`, and shift it by its mean."""
        for place, (weight, bias) in enumerate(self._layers[:-1]):
            x = self._layer(place, x)
            variance, mean = self._torch.var_mean(x, (0, 2, 3) if x.dim() == 4 else (0,), correction=0)
            spread = (variance + EPSILON).sqrt()
            shift = (0.0 if bias is None else bias) - mean
            self._layers[place] = weight / spread.view(-1, *[1] * (weight.dim() - 1)), shift / spread
            shape = (1, -1, *[1] * (x.dim() - 2))
            x = self._activation((x - mean.view(shape)) / spread.view(shape))
