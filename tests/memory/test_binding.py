import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import cosine_similarity

from hmem.errors import ConfigError
from hmem.memory.binding import CircularConvolution, Hadamard, TensorProduct, make_binding
from tests import oracles
from tests.memory.problems import LAW, SEEDS, BindingName, generator, normal

every_binding = pytest.mark.parametrize("name", ["tpr", "cconv", "hadamard"])
sizes = st.integers(1, 64)


def dims(name: BindingName, size: int) -> tuple[int, int]:
    """(dr, de): roles of their own size for the tensor product, of the fillers' size otherwise."""
    return (size % 7 + 1 if name == "tpr" else size), size


def unit_spectrum(rng: torch.Generator, *shape: int) -> Tensor:
    spectrum = torch.fft.rfft(normal(rng, *shape))
    vector: Tensor = torch.fft.irfft(spectrum / spectrum.abs(), n=shape[-1])
    return vector


def exact_role(name: BindingName, rng: torch.Generator, *shape: int) -> Tensor:
    """A role for which unbinding inverts binding."""
    role = normal(rng, *shape)
    match name:
        case "tpr":
            return role / role.square().sum(-1, keepdim=True).sqrt()
        case "cconv":
            return unit_spectrum(rng, *shape)
        case _:
            return role.sign()


@every_binding
@given(seed=SEEDS, size=sizes)
@LAW
def test_unbinding_inverts_binding(name: BindingName, seed: int, size: int) -> None:
    rng, binding, (dr, de) = generator(seed), make_binding(name), dims(name, size)
    role, filler = exact_role(name, rng, 3, dr), normal(rng, 3, de)
    torch.testing.assert_close(binding.unbind(role, binding.bind(role, filler)), filler, rtol=0, atol=1e-10)


@pytest.mark.parametrize("size", [64, 65, 200, 501])
def test_correlation_finds_the_filler_of_a_random_role(rng: torch.Generator, size: int) -> None:
    role, filler = normal(rng, 200, size) / size**0.5, normal(rng, 200, size)
    binding = CircularConvolution()
    assert cosine_similarity(binding.unbind(role, binding.bind(role, filler)), filler).mean() > 0.6


@every_binding
@given(seed=SEEDS, size=st.integers(1, 12))
@LAW
def test_equals_the_dense_oracle(name: BindingName, seed: int, size: int) -> None:
    rng, binding, (dr, de) = generator(seed), make_binding(name), dims(name, size)
    role, filler = normal(rng, dr), normal(rng, de)
    memory = binding.bind(role, filler)
    torch.testing.assert_close(memory, oracles.bind(name, role, filler))
    torch.testing.assert_close(binding.unbind(role, memory), oracles.unbind(name, role, memory))


@every_binding
@given(seed=SEEDS, size=sizes)
@LAW
def test_is_bilinear(name: BindingName, seed: int, size: int) -> None:
    rng, binding, (dr, de) = generator(seed), make_binding(name), dims(name, size)
    roles, fillers, (a, b) = normal(rng, 2, dr), normal(rng, 2, de), normal(rng, 2)
    memory = binding.bind(roles[0], fillers[0])
    other = binding.bind(roles[1], fillers[0])
    torch.testing.assert_close(
        binding.bind(roles[0], a * fillers[0] + b * fillers[1]), a * memory + b * binding.bind(roles[0], fillers[1])
    )
    torch.testing.assert_close(binding.bind(a * roles[0] + b * roles[1], fillers[0]), a * memory + b * other)
    torch.testing.assert_close(
        binding.unbind(roles[0], a * memory + b * other),
        a * binding.unbind(roles[0], memory) + b * binding.unbind(roles[0], other),
    )


@every_binding
@pytest.mark.parametrize("size", [7, 8])
def test_takes_any_leading_shape(rng: torch.Generator, name: BindingName, size: int) -> None:
    binding, (dr, de) = make_binding(name), dims(name, size)
    roles, fillers = normal(rng, 4, 1, dr), normal(rng, 3, de)
    memories = binding.bind(roles, fillers)
    assert memories.shape == (4, 3, binding.memory_dim(de, dr))
    torch.testing.assert_close(memories[2, 1], binding.bind(roles[2, 0], fillers[1]))
    torch.testing.assert_close(binding.unbind(roles, memories)[2, 1], binding.unbind(roles[2, 0], memories[2, 1]))
    nothing = binding.bind(roles[:0, 0], fillers[:0])
    assert nothing.shape == (0, binding.memory_dim(de, dr))
    assert binding.unbind(roles[:0, 0], nothing).shape == (0, de)


def test_a_tensor_product_is_flat_by_rows(rng: torch.Generator) -> None:
    role, filler = normal(rng, 3), normal(rng, 5)
    memory = TensorProduct().bind(role, filler)
    assert memory[2 * 5 + 4] == role[2] * filler[4]


@every_binding
def test_gradients(rng: torch.Generator, name: BindingName) -> None:
    binding, (dr, de) = make_binding(name), dims(name, 5)
    role, filler = normal(rng, 2, dr).requires_grad_(), normal(rng, 2, de).requires_grad_()
    assert torch.autograd.gradcheck(lambda r, e: binding.unbind(r, binding.bind(r, e)), (role, filler))


def test_memory_dims() -> None:
    assert TensorProduct().memory_dim(entity_dim=80, relation_dim=25) == 2000
    assert CircularConvolution().memory_dim(entity_dim=81, relation_dim=81) == 81
    assert Hadamard().memory_dim(entity_dim=80, relation_dim=80) == 80


@pytest.mark.parametrize("name", ["cconv", "hadamard"])
def test_a_role_of_another_size_is_refused(name: BindingName) -> None:
    with pytest.raises(ConfigError, match="relation_dim=25 must equal entity_dim=80"):
        make_binding(name).memory_dim(entity_dim=80, relation_dim=25)
