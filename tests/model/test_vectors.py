import torch

from hmem.config import MemoryConfig
from hmem.model.vectors import Embeddings
from tests import oracles


def embeddings(binding: str, entity_dim: int = 8, relation_dim: int = 8) -> Embeddings:
    torch.manual_seed(0)
    config = MemoryConfig(binding=binding, entity_dim=entity_dim, relation_dim=relation_dim)  # type: ignore[arg-type]
    return Embeddings(config, 200, 5).double()


def test_tensor_products_get_unit_roles_and_entities_as_they_are() -> None:
    layer = embeddings("tpr", 8, 4)
    vectors = layer()
    assert vectors.entities is layer.entity
    assert vectors.roles.shape == (10, 4)
    torch.testing.assert_close(vectors.roles.norm(dim=1), torch.ones(10, dtype=torch.float64))
    along = (vectors.roles * layer.role).sum(1)
    torch.testing.assert_close(along, layer.role.norm(dim=1))  # the same directions


def test_convolution_gets_whitened_vectors() -> None:
    layer = embeddings("cconv")
    with torch.no_grad():
        layer.entity.mul_(torch.linspace(0.5, 3, 8)).add_(1.0)
        layer.role.add_(-2.0)
    raw = torch.cat([layer.entity, layer.role]).detach()
    alpha = layer.whitening.shrinkage if layer.whitening is not None else 1.0
    spread = (1 - alpha) * oracles.covariance(raw) + alpha * torch.eye(8, dtype=torch.float64)
    expected = (raw - raw.mean(0)) @ oracles.inverse_root(spread) / 8**0.5
    vectors = layer()
    torch.testing.assert_close(torch.cat([vectors.entities, vectors.roles]), expected)


def test_hadamard_products_take_both_as_they_are() -> None:
    layer = embeddings("hadamard")
    vectors = layer()
    assert vectors.entities is layer.entity
    assert vectors.roles is layer.role
    assert (layer.role - 1).abs().max() < 0.5  # near the identity of the product


def test_vectors_start_with_norm_near_one() -> None:
    for binding in ("tpr", "cconv", "hadamard"):
        vectors = embeddings(binding, 64, 64)()
        assert 0.8 < vectors.entities.norm(dim=1).mean() < 1.2, binding


def test_gradients_reach_entities_and_roles() -> None:
    for binding in ("tpr", "cconv", "hadamard"):
        layer = embeddings(binding)
        vectors = layer()
        (vectors.entities.pow(3).sum() + vectors.roles.pow(3).sum()).backward()
        for parameter in (layer.entity, layer.role):
            assert parameter.grad is not None
            assert parameter.grad.abs().sum() > 0, binding
            assert parameter.grad.isfinite().all(), binding


def test_only_convolution_is_whitened() -> None:
    assert [embeddings(binding).whitening is not None for binding in ("tpr", "cconv", "hadamard")] == [
        False,
        True,
        False,
    ]
