"""Any Hugging Face encoder, taken as it is: hooks on its layers read and replace what passes between them.

What is needed of it: it takes ids and a mask, it gives its hidden states, and its layers stand in one list, each called
once with the output of the one before as its first argument. All that is checked once, on a few tokens, when it is
wrapped.

Shapes: ``B`` sentences, ``T`` tokens, ``D`` width, ``V`` vocabulary.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from isoglot.core.errors import ConfigError, one_line
from isoglot.core.parts import import_part
from isoglot.model.edits import changed, check_layer
from isoglot.model.head import no_head
from isoglot.model.protocol import end_of_way

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from isoglot.model.batch import Batch
    from isoglot.model.edits import Change
    from isoglot.vocab import Vocabulary

_LENGTH = 512  # where a model does not say how long its input may be


class HookedEncoder(nn.Module):
    """A Hugging Face encoder behind the protocol of :class:`isoglot.model.EncoderLike`.

    Args:
        model: With its head for masked language modelling; without, it has no logits.
        vocabulary: What its ids mean.

    Raises:
        ConfigError: It is no encoder whose layers can be found, or the vocabulary is larger than it.
    """

    def __init__(self, model: Any, vocabulary: Vocabulary | None = None) -> None:  # noqa: ANN401 - transformers' class
        super().__init__()
        self.model = model
        self._vocabulary = vocabulary
        self._blocks: list[nn.ModuleList] = []  # in lists, so that they are not registered a second time
        self._entry: list[nn.Module] = []
        self._edits = 0
        self._unedited = -1  # what is edited up to this layer is left alone for now
        config = model.config
        self.size = int(config.vocab_size)
        if vocabulary is not None and len(vocabulary) > self.size:
            raise ConfigError(
                f"a tokenizer of {len(vocabulary):,} pieces with a model of {self.size:,}",
                remedy="use the tokenizer the model was trained with",
            )
        was_training = model.training
        model.eval()
        self._find_layers()
        model.train(was_training)

    @property
    def vocabulary(self) -> Vocabulary:
        """What its ids mean.

        Raises:
            ConfigError: It was wrapped without one.
        """
        if self._vocabulary is None:
            raise ConfigError("the encoder has no vocabulary", remedy="load it with its tokenizer, or give it one")
        return self._vocabulary

    @property
    def width(self) -> int:
        """Numbers in a representation."""
        return self._width

    @property
    def depth(self) -> int:
        """How many layers it has."""
        return len(self._blocks[0])

    @property
    def length(self) -> int:
        """The longest input in tokens, special ones included."""
        longest = getattr(self.model.config, "max_position_embeddings", None) or 0
        for name, part in self._base.named_modules():
            if name.endswith("position_embeddings") and isinstance(part, nn.Embedding) and part.padding_idx is not None:
                longest -= part.padding_idx + 1  # RoBERTa's positions begin after its padding
        return longest if longest > 0 else _LENGTH

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return torch.device(next(self.model.parameters()).device)

    def layers(self, batch: Batch, language: str | None = None) -> tuple[torch.Tensor, ...]:
        """The output of every layer (each B x T x D); the first is what goes into the layers, the embeddings."""
        if not self._edits:
            return _hidden_states(self._base, batch.ids_BT, batch.mask_BT)
        found: list[torch.Tensor] = []

        def note(hidden: torch.Tensor) -> torch.Tensor:
            found.append(hidden)
            return hidden

        with ExitStack() as hooks:  # the model may tell its states as they were before an edit
            for block in self._blocks[0]:
                hooks.enter_context(_before(block, note))
            last = _last_hidden_state(self._base, batch.ids_BT, batch.mask_BT)
        return (*found, last)

    def run_from(
        self, layer: int, hidden: torch.Tensor, batch: Batch, language: str | None = None, to: int | None = None
    ) -> torch.Tensor:
        """Go on from the output of a layer to the output of a later one, the last unless told.

        The layers before run too, for nothing: a foreign model can only be entered at its beginning.

        Raises:
            ConfigError: There is no such layer, or the later one comes before.
        """
        end = end_of_way(layer, to, self.depth)
        if layer == end:
            return hidden
        blocks = self._blocks[0]
        # What goes into the first layer may be used beside it too (DeBERTa has a convolution): put it in before both.
        entry = self._entry[0] if layer == 0 else blocks[layer]
        with ExitStack() as hooks:
            hooks.enter_context(self._left_alone(layer))
            hooks.enter_context(_before(entry, lambda _: hidden))
            if end < self.depth:
                hooks.enter_context(_before(blocks[end], _stop))
            try:
                return _last_hidden_state(self._base, batch.ids_BT, batch.mask_BT)
            except _ReachedError as reached:
                return reached.hidden

    def logits(self, hidden: torch.Tensor, language: str | None = None) -> torch.Tensor:
        """Scores of every piece (… x V) from the last layer's output (… x D).

        The model's own head computes them: for one call, the encoder under it gives back what it is handed.

        Raises:
            ConfigError: It came without a head.
        """
        base = self._base
        if base is self.model:
            raise no_head()
        flat_BTD = hidden.reshape(1, -1, hidden.shape[-1])
        output = import_part("transformers.modeling_outputs").BaseModelOutput(last_hidden_state=flat_BTD)
        ids_BT = torch.zeros(flat_BTD.shape[:2], dtype=torch.int64, device=flat_BTD.device)
        base.forward = lambda *_, **__: output  # on the object: the class is as it was
        try:
            with self._left_alone(self.depth):
                scores = self.model(input_ids=ids_BT, return_dict=True).logits
        finally:
            del base.forward
        size = self.size if self._vocabulary is None else len(self._vocabulary)
        logits: torch.Tensor = scores[..., :size].reshape(*hidden.shape[:-1], size)
        return logits

    @contextmanager
    def edited(self, layer: int, change: Change) -> Iterator[None]:
        """While the block lasts, the output of a layer (0: the embeddings) goes through a change.

        Whoever runs the model has it, such as another head on it. Only a pooler of the model's own does not see what is
        edited after its last layer.

        Raises:
            ConfigError: There is no such layer.
        """
        check_layer(layer, self.depth)
        ids: list[torch.Tensor] = []

        def take_ids(_: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
            found = given[0] if given else named.get("input_ids")
            if not isinstance(found, torch.Tensor):
                raise ConfigError("an encoder with an edit was given no ids", remedy="give it ids, not embeddings")
            ids[:] = [found]

        def apply(hidden: torch.Tensor) -> torch.Tensor:
            return hidden if layer <= self._unedited else changed(change, hidden, ids[0])

        with ExitStack() as hooks:
            hooks.callback(self._base.register_forward_pre_hook(take_ids, with_kwargs=True).remove)
            if layer == self.depth:
                hooks.enter_context(_after(self._base, apply))
            else:
                hooks.enter_context(_before(self._entry[0] if layer == 0 else self._blocks[0][layer], apply))
            self._edits += 1
            try:
                yield
            finally:
                self._edits -= 1

    @contextmanager
    def _left_alone(self, layer: int) -> Iterator[None]:
        """While the block lasts, nothing is edited up to a layer."""
        before, self._unedited = self._unedited, layer
        try:
            yield
        finally:
            self._unedited = before

    @property
    def _base(self) -> Any:  # noqa: ANN401 - transformers' class
        return self.model.base_model

    @torch.no_grad()
    def _find_layers(self) -> None:
        """Run a few tokens through, and take the list whose modules are given just the hidden states, in order."""
        name = self.model.config.model_type
        remedy = "choose an encoder such as BERT, XLM-R, DistilBERT, ELECTRA or DeBERTa"
        ids_BT = torch.arange(4, device=self.device)[None] % self.size
        seen: dict[nn.Module, torch.Tensor] = {}

        def note(module: nn.Module) -> Callable[[torch.Tensor], torch.Tensor]:
            def look(hidden: torch.Tensor) -> torch.Tensor:
                seen[module] = hidden
                return hidden

            return look

        lists = [part for part in self._base.modules() if isinstance(part, nn.ModuleList)]
        owners = [part for part in self._base.modules() if part is not self._base]
        with ExitStack() as hooks:
            for part in owners:
                hooks.enter_context(_before(part, note(part)))
            try:
                states = _hidden_states(self._base, ids_BT, torch.ones_like(ids_BT, dtype=torch.bool))
            except Exception as error:  # whatever a foreign model may do with ids and a mask
                raise ConfigError(
                    f"{name} cannot be run as an encoder ({one_line(str(error))[:120]})", remedy=remedy
                ) from error
        for blocks in lists:
            given = [seen.get(block) for block in blocks]
            if len(given) == len(states) - 1 and all(
                one is not None and one.shape == two.shape and torch.equal(one, two)
                for one, two in zip(given, states, strict=False)
            ):
                self._blocks = [blocks]
                break
        else:
            raise ConfigError(f"the layers of {name} cannot be found in one list", remedy=remedy)
        self._width = states[0].shape[-1]
        around = (part for part in owners if any(child is blocks for child in part.children()))
        owner = next(around, blocks[0])
        same = owner in seen and seen[owner].shape == states[0].shape and torch.equal(seen[owner], states[0])
        self._entry = [owner if same else blocks[0]]


class _ReachedError(Exception):
    """The layer to stop before, with what would go into it."""

    def __init__(self, hidden: torch.Tensor) -> None:
        super().__init__()
        self.hidden = hidden


def _stop(hidden: torch.Tensor) -> torch.Tensor:
    raise _ReachedError(hidden)


@contextmanager
def _before(module: nn.Module, change: Callable[[torch.Tensor], torch.Tensor]) -> Iterator[None]:
    """While the block lasts, the tensor that a module is given first goes through a function."""

    def hook(_: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if given and isinstance(given[0], torch.Tensor):
            return (change(given[0]), *given[1:]), named
        if isinstance(named.get("hidden_states"), torch.Tensor):
            return given, {**named, "hidden_states": change(named["hidden_states"])}
        return given, named

    handle = module.register_forward_pre_hook(hook, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def _after(base: nn.Module, change: Callable[[torch.Tensor], torch.Tensor]) -> Iterator[None]:
    """While the block lasts, the last hidden state that a model gives goes through a function."""

    def hook(_: nn.Module, __: tuple[Any, ...], output: Any) -> Any:  # noqa: ANN401 - a tuple or transformers' class
        if isinstance(output, tuple):
            return (change(output[0]), *output[1:])
        output["last_hidden_state"] = change(output["last_hidden_state"])
        return output

    handle = base.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def _hidden_states(base: Any, ids_BT: torch.Tensor, mask_BT: torch.Tensor) -> tuple[torch.Tensor, ...]:  # noqa: ANN401
    """What each layer gives; the last after the model's final norm, if it has one."""
    output = base(input_ids=ids_BT, attention_mask=mask_BT.long(), output_hidden_states=True, return_dict=True)
    return (*output.hidden_states[:-1], output.last_hidden_state)


def _last_hidden_state(base: Any, ids_BT: torch.Tensor, mask_BT: torch.Tensor) -> torch.Tensor:  # noqa: ANN401
    output = base(input_ids=ids_BT, attention_mask=mask_BT.long(), return_dict=True)
    last: torch.Tensor = output.last_hidden_state
    return last
