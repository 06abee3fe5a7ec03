"""What a policy is, as plain values: its network, what its outputs mean, how they become actions, and how it starts.

A network's flat vector has its tensors in PyTorch's order, with PyTorch's names. It is the order of
`torch.nn.utils.parameters_to_vector` for `torch.nn.Linear` (weight, bias) and `torch.nn.LSTM` (weight_ih, weight_hh,
bias_ih, bias_hh; in each the rows of the input, forget, cell and output gates).

A network may also be a user's class of PyTorch modules, MODULE:CLASS, for algorithms that need no gradients of it. The
class is called with the number of observations and of outputs; a module maps observations `(1, observation)` to outputs
`(1, outputs)`. If it has a method `reset`, that begins an episode. Only what constructs or runs one imports torch and
the user's module; a specification has the names and shapes of its parameters as text.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from erlbench.policy.pixels import choose_convolutions, feature_shape, reference_size
from erlbench.work.seeding import Key, generator

if TYPE_CHECKING:
    import torch

ACTIVATIONS = ("tanh", "relu", "leaky-relu")
NETWORKS = ("mlp", "lstm")
SQUASHINGS = ("tanh", "linear", "clip", "floor")
ACTIONS = ("continuous", "bins", "discrete")
INITIALISATIONS = ("pytorch", "normc", "zero")
LAST_NORM = 0.01  # of the weights of an output, OpenAI-ES


@dataclass(frozen=True)
class Tensor:
    """A named part of the vector; `fan_in` is the number that PyTorch's initialisation depends on."""

    name: str
    shape: tuple[int, ...]
    place: slice
    fan_in: int


@dataclass(frozen=True)
class PolicySpec:
    """A policy network; what it gives is a normalised action, which `denormalise` turns into the environment's.

    `continuous`: one output u per dimension, squashed. tanh: tanh(u), a normalised action in [-1, 1], which means
    `centre + half_range * action`. floor (GoodAI): floor(6 tanh(u)) / 6, the same on twelve levels. linear: u itself
    in the environment's units; the policy does not clip it, the environment does as it does. clip: u in the
    environment's units, clipped to its bounds.
    `bins`: `bins` outputs per dimension, never squashed; the largest one names one of `bins` equally spaced values
    from low to high.
    `discrete`: one output per action, squashed; `denormalise` gives the index of the largest. `sizes[-1]` is the
    number of actions, and the bounds are ().

    A `stochastic` policy has two outputs u, v per continuous dimension and squashes a sample of
    N(u, exp(clip(v, -20, 2))^2); otherwise it draws from the softmax of its outputs.

    With `normalisation` the vector ends with mean and standard deviation of the observations, which are not learnt;
    the network then sees clip((observation - mean) / std, -observation_clip, observation_clip).
    """

    sizes: tuple[int, ...]  # observation, hidden widths, action (dimensions; or the number of discrete actions)
    activation: str  # of hidden layers; LSTM cells have other ones
    action_low: tuple[float, ...]
    action_high: tuple[float, ...]
    _: KW_ONLY
    network: str = "mlp"  # lstm: hidden layers are LSTM cells, whose state is zero at an episode's start
    bias: bool = True
    squashing: str = "tanh"
    actions: str = "continuous"
    bins: int = 0  # values per dimension where `actions` is bins
    stochastic: bool = False
    normalisation: bool = False
    observation_clip: float = 5.0  # of normalised observations
    parameters: tuple[str, ...] = ()  # where `network` is MODULE:CLASS: NAME:8x3 of each
    image: tuple[int, ...] = ()  # channels, height, width of an image that is observed: convolutions come first
    reference: int = 0  # images of virtual batch normalisation (`pixels.py`), with which the vector ends; 0: none

    def __post_init__(self) -> None:
        for value, choices in (
            (self.activation, ACTIVATIONS),
            (self.network, NETWORKS),
            (self.squashing, SQUASHINGS),
            (self.actions, ACTIONS),
        ):
            if value not in choices and not (value == self.network and ":" in value):
                raise ValueError(f"'{value}' is none of {', '.join(choices)}")

    @property
    def size(self) -> int:
        """Length of the whole vector."""
        statistics = 2 * self.sizes[0] if self.normalisation else 0
        return self.learnt_size + statistics + (reference_size(self.image, self.reference) if self.reference else 0)

    @property
    def learnt_size(self) -> int:
        """How many numbers at the vector's beginning a search moves: the network's parameters."""
        return self.tensors[-1].place.stop

    @property
    def widths(self) -> tuple[int, ...]:
        """Layer widths of the network: `sizes` with the number of outputs at the end."""
        per_action = self.bins if self.actions == "bins" else 2 if self.samples_normal else 1
        return (*self.sizes[:-1], per_action * self.sizes[-1])

    @property
    def tensors(self) -> list[Tensor]:
        """The network's tensors in the order of the vector."""
        if self.parameters:
            return _named_tensors(self.parameters)
        return network_tensors(self.widths, bias=self.bias, lstm=self.network == "lstm", image=self.image)

    @property
    def samples_normal(self) -> bool:
        """Whether actions are drawn from normal distributions."""
        return self.stochastic and self.actions == "continuous"

    @property
    def bounded(self) -> bool:
        """Whether normalised actions lie in [-1, 1]."""
        return self.actions == "bins" or self.squashing in ("tanh", "floor")

    @property
    def half_range(self) -> np.ndarray:
        """Half the width of the action interval, float32 `(action,)`."""
        return (np.array(self.action_high, np.float32) - np.array(self.action_low, np.float32)) / 2

    @property
    def centre(self) -> np.ndarray:
        """The middle of the action interval, float32 `(action,)`."""
        return (np.array(self.action_high, np.float32) + np.array(self.action_low, np.float32)) / 2

    def denormaliser(self) -> Callable[[np.ndarray], Any]:
        """The function from a normalised action `(action,)` to the environment's: a new array, or an integer."""
        if self.actions == "discrete":
            return lambda normalised: int(normalised.argmax())
        if self.squashing == "clip" and self.actions == "continuous":
            low, high = np.array(self.action_low, np.float32), np.array(self.action_high, np.float32)
            return lambda normalised: np.clip(normalised, low, high)
        if not self.bounded:
            return np.ndarray.copy
        half_range, centre = self.half_range, self.centre
        if not centre.any():  # as mostly
            return half_range.__mul__ if (half_range != 1).any() else np.ndarray.copy
        return lambda normalised: half_range * normalised + centre

    def random_action(self, random: np.random.Generator) -> np.ndarray:
        """A normalised action `(action,)` float32 that means a uniformly random action of the environment."""
        uniform = random.uniform(-1.0, 1.0, self.sizes[-1]).astype(np.float32)
        return uniform if self.bounded or self.actions == "discrete" else self.half_range * uniform + self.centre

    def split(self, parameters: np.ndarray) -> dict[str, np.ndarray]:
        """The tensors of a policy's vector by name, as views; with normalisation, the observations' mean and std."""
        named = {tensor.name: parameters[tensor.place].reshape(tensor.shape) for tensor in self.tensors}
        if self.normalisation:
            statistics = parameters[self.learnt_size :].reshape(2, self.sizes[0])
            named["observation.mean"], named["observation.std"] = statistics
        if self.reference:
            named["reference"] = parameters[self.learnt_size :]
        return named


_Part = tuple[str, tuple[int, ...], int]  # name, shape and fan-in of a tensor


def _in_order(parts: Iterable[_Part]) -> list[Tensor]:
    """The tensors of a vector, one behind the other."""
    tensors, start = [], 0
    for name, shape, fan_in in parts:
        stop = start + math.prod(shape)
        tensors.append(Tensor(name, shape, slice(start, stop), fan_in))
        start = stop
    return tensors


@lru_cache(maxsize=8)
def _named_tensors(parameters: tuple[str, ...]) -> list[Tensor]:
    parts: list[_Part] = []
    for parameter in parameters:
        name, _, text = parameter.rpartition(":")
        shape = tuple(map(int, text.split("x")))
        parts.append((name, shape, shape[-1]))
    return _in_order(parts)


def layer_slices(sizes: Sequence[int]) -> list[tuple[slice, slice]]:
    """Weight and bias slices of each layer of an MLP with layer widths `sizes` in its flat vector."""
    places = [tensor.place for tensor in network_tensors(tuple(sizes))]
    return list(zip(places[::2], places[1::2]))


def parameter_count(sizes: Sequence[int]) -> int:
    """Number of weights and biases of an MLP with layer widths `sizes`."""
    return sum((inputs + 1) * outputs for inputs, outputs in zip(sizes, sizes[1:]))


@lru_cache(maxsize=64)  # outside of the specs, which travel with every task
def network_tensors(
    sizes: tuple[int, ...], *, bias: bool = True, lstm: bool = False, image: tuple[int, ...] = ()
) -> list[Tensor]:
    """The tensors of a network with layer widths `sizes`; with `lstm` its hidden layers are LSTM cells.

    `layer.N.weight` `(outputs, inputs)` and `layer.N.bias` are a linear layer's, N counted from 0 over all layers.
    `lstm.weight_ih_lN` `(4 * outputs, inputs)`, `lstm.weight_hh_lN` `(4 * outputs, outputs)`, `lstm.bias_ih_lN` and
    `lstm.bias_hh_lN` are an LSTM cell's. Before the first layer of a network that sees an `image` are convolutions:
    `convolution.N.weight` `(outputs, inputs, side, side)` and `convolution.N.bias`.
    """
    parts: list[_Part] = []
    if image:
        channels = image[0]
        for index, (outputs, side, _) in enumerate(choose_convolutions(image)):
            parts += _layer(f"convolution.{index}", (outputs, channels, side, side), bias)
            channels = outputs
        sizes = (math.prod(feature_shape(image)), *sizes[1:])
    for index, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
        if lstm and index < len(sizes) - 2:
            parts += _lstm(index, inputs, outputs, bias)
        else:
            parts += _layer(f"layer.{index}", (outputs, inputs), bias)
    return _in_order(parts)


def _layer(name: str, shape: tuple[int, ...], bias: bool) -> Iterator[_Part]:
    fan_in = math.prod(shape[1:])
    yield f"{name}.weight", shape, fan_in
    if bias:
        yield f"{name}.bias", shape[:1], fan_in


def _lstm(index: int, inputs: int, outputs: int, bias: bool) -> Iterator[_Part]:
    yield f"lstm.weight_ih_l{index}", (4 * outputs, inputs), outputs
    yield f"lstm.weight_hh_l{index}", (4 * outputs, outputs), outputs
    if bias:
        yield f"lstm.bias_ih_l{index}", (4 * outputs,), outputs
        yield f"lstm.bias_hh_l{index}", (4 * outputs,), outputs


# -- a user's class of PyTorch modules, and how vectors start ---------------------------------------------------------


def new_module(name: str, observations: int, outputs: int) -> torch.nn.Module:
    """A module of the class MODULE:CLASS; `ValueError` for what is none."""
    import torch

    module, _, attribute = name.partition(":")
    kind = getattr(importlib.import_module(module), attribute)
    if not (isinstance(kind, type) and issubclass(kind, torch.nn.Module)):  # a name in a file must call nothing else
        raise ValueError(f"{name} is no class of torch.nn.Module")
    network: torch.nn.Module = kind(observations, outputs)
    if not list(network.parameters()):
        raise ValueError(f"{name} has no parameters")
    return network


def try_module(module: Any, twin: Any, observations: int, outputs: int) -> None:
    """Raise `ValueError` unless episodes that begin alike have equal outputs `(1, outputs)`, also in another process.

    `twin` is a second object, which gets the parameters of the first one.
    """
    import torch

    begins = []
    with torch.inference_mode():
        for parameter, value in zip(twin.parameters(), module.parameters(), strict=True):
            parameter.copy_(value)
        for network in (module.eval(), module, twin.eval()):
            if hasattr(network, "reset"):
                network.reset()
            output = network(torch.linspace(-1.0, 1.0, observations)[None])
            if not isinstance(output, torch.Tensor):
                raise ValueError(f"its output is a {type(output).__name__}, not a tensor")
            begins.append(output.nan_to_num())
    first, *others = begins
    if first.shape != (1, outputs):
        raise ValueError(f"its outputs are {tuple(first.shape)}, not {(1, outputs)}")
    if not all(torch.equal(first, other) for other in others):
        raise ValueError(
            "it draws random numbers besides its first parameters, or keeps what no reset() clears: equal observations "
            "have two outputs"
        )


def describe_parameters(module: torch.nn.Module) -> tuple[str, ...]:
    """`NAME:8x3` of each parameter, in the order of the module and of the flat vector."""
    return tuple(
        f"{name}:{'x'.join(map(str, parameter.shape)) or '1'}" for name, parameter in module.named_parameters()
    )


def initial_vector(spec: PolicySpec, key: Key) -> np.ndarray:
    """The parameters with which a new module starts, float32 `(learnt_size,)`."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(generator(*key).integers(2**63)))
        module = new_module(spec.network, spec.sizes[0], spec.sizes[-1])
    parts = [parameter.detach().numpy().ravel() for parameter in module.parameters()]
    return np.concatenate(parts).astype(np.float32)


def initial_parameters(sizes: Sequence[int], key: Key) -> np.ndarray:
    """An MLP by PyTorch's default for Linear layers: U(-1/sqrt(inputs), 1/sqrt(inputs)), float32."""
    return _uniform(network_tensors(tuple(sizes)), key)


def initial_policy(spec: PolicySpec, key: Key, initialisation: str = "pytorch") -> np.ndarray:
    """A policy's first vector, float32 `(spec.size,)`; observations, if normalised, have mean 0 and std 1.

    `pytorch`: the defaults of `torch.nn.Linear` and `torch.nn.LSTM`, U(-1/sqrt(k), 1/sqrt(k)) with k the layer's
    inputs and the LSTM's units, respectively. `normc`: as OpenAI-ES's public code, normal weights, those into one
    unit scaled to norm 1, those into one output to norm 0.01; biases 0. `zero`: all parameters are 0.
    A policy that observes nothing starts uniformly within the actions' bounds, whatever `initialisation` is.
    """
    if not spec.sizes[0]:  # nothing is observed: the action itself, anywhere within its bounds
        return generator(*key).uniform(spec.action_low, spec.action_high).astype(np.float32)
    if initialisation == "zero":
        network = np.zeros(spec.learnt_size, np.float32)
    elif spec.parameters:
        network = initial_vector(spec, key)
    else:
        network = _normc(spec.tensors, key) if initialisation == "normc" else _uniform(spec.tensors, key)
    if spec.reference:  # of black images
        return np.append(network, np.zeros(spec.size - spec.learnt_size, np.float32))
    if not spec.normalisation:
        return network
    zeros = np.zeros(spec.sizes[0], np.float32)
    return np.concatenate([network, zeros, zeros + 1])


def _uniform(tensors: Sequence[Tensor], key: Key) -> np.ndarray:
    random, parts = generator(*key), []
    for tensor in tensors:
        bound = 1.0 / math.sqrt(tensor.fan_in)
        parts.append(random.uniform(-bound, bound, math.prod(tensor.shape)))
    return np.concatenate(parts).astype(np.float32)


def _normc(tensors: Sequence[Tensor], key: Key) -> np.ndarray:
    random, parts = generator(*key), []
    weights = [tensor for tensor in tensors if len(tensor.shape) > 1]
    for tensor in tensors:
        if len(tensor.shape) == 1:
            parts.append(np.zeros(tensor.shape))
            continue
        weight = random.standard_normal(tensor.shape)
        norm, rows = LAST_NORM if tensor is weights[-1] else 1.0, weight.reshape(len(weight), -1)
        parts.append((rows * (norm / np.linalg.norm(rows, axis=1, keepdims=True))).ravel())
    return np.concatenate(parts).astype(np.float32)
