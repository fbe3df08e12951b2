"""Wrapper of any Hugging Face encoder: hooks on its modules read and replace hidden states.

The model must take ids and an attention mask and return its hidden states, and for each of these there must be a place
before or after some module where a hook can replace it completely. When a model is wrapped, these places are searched
for on a few tokens, and each is verified: when the state of one sentence is put into another, the model must continue
as it did with the first.

Shapes: ``B`` sentences, ``T`` tokens, ``D`` hidden size, ``V`` vocabulary.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import nn

from isoglot.core.errors import ConfigError, check_name, one_line
from isoglot.core.language_codes import language_code
from isoglot.core.optional import import_part
from isoglot.model.hf.import_weights import used_rows
from isoglot.model.modules import no_head
from isoglot.model.protocol import (
    Batch,
    Change,
    EncoderLike,
    TokenTable,
    changed,
    check_layer,
    in_second_text,
    last_layer,
    needed_vocabulary,
)
from isoglot.text.provenance import Provenance, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from isoglot.vocab import Vocabulary

_LENGTH = 512  # maximum input length, if the config has none
_TRIED = 12  # places per layer
_REMEDY = "choose an encoder such as BERT, XLM-R, DistilBERT, ELECTRA, DeBERTa, ALBERT, XLM or T5"


class _Place(NamedTuple):
    """Where a hidden state passes: the first argument of a module's call, or its output."""

    module: nn.Module
    call: int  # the number of the call, from 0: ALBERT calls one module for every layer
    after: bool


class HookedEncoder(EncoderLike, nn.Module):
    """A Hugging Face encoder behind the interface of :class:`isoglot.model.EncoderLike`.

    Args:
        model: The model, with its masked language modeling head if it is to have logits.
        vocabulary: The vocabulary of its ids.

    Raises:
        ConfigError: Its layers cannot be found or edited, or the vocabulary is larger than the model's.
    """

    hidden_size: int
    provenance: Provenance

    def __init__(self, model: Any, vocabulary: Vocabulary | None = None) -> None:  # noqa: ANN401 - transformers' class
        super().__init__()
        self.model, self._vocabulary = model, vocabulary
        self._places: list[_Place] = []
        self._languages = _language_ids(model.config)
        self._edits = 0
        self.provenance = unknown("an encoder without a record")
        self._unedited = -1  # edits up to this layer are suspended
        config = model.config
        self._separator = _separator(config, vocabulary)
        self.has_head = model.base_model is not model
        self.size = int(config.vocab_size)
        used_rows(self.size, vocabulary)
        was_training = model.training
        model.eval()
        self._find_places()
        model.train(was_training)

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of its ids."""
        return needed_vocabulary(self._vocabulary)

    @property
    def depth(self) -> int:
        """Number of layers."""
        return len(self._places)

    @property
    def max_length(self) -> int:
        """Maximum number of input tokens, special tokens included."""
        longest = getattr(self.model.config, "max_position_embeddings", None) or 0
        for name, part in self._base.named_modules():
            if name.endswith("position_embeddings") and isinstance(part, nn.Embedding) and part.padding_idx is not None:
                longest -= part.padding_idx + 1  # RoBERTa's positions begin after its padding id
        return longest if longest > 0 else _LENGTH

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return torch.device(next(self.model.parameters()).device)

    def layers(self, batch: Batch, language: str | None = None) -> tuple[torch.Tensor, ...]:
        """Hidden states of every layer (each B x T x D); the first are the embeddings.

        Raises:
            ConfigError: The model has language embeddings, and none of this language.
        """
        inputs = self._inputs(batch, language)
        if not self._edits:
            return _hidden_states(self._base, inputs)
        found: list[torch.Tensor] = []

        def note(hidden: torch.Tensor) -> torch.Tensor:
            found.append(hidden)
            return hidden

        with self._hooked(dict.fromkeys(range(self.depth), note)):
            last = _last_hidden_state(self._base, inputs)  # the model may return its states from before an edit
        return (*found, last)

    def run_from(
        self, layer: int, hidden: torch.Tensor, batch: Batch, language: str | None = None, to: int | None = None
    ) -> torch.Tensor:
        """Continue from the output of one layer to the output of a later one (default: the last).

        The layers before run too: a wrapped model can only be entered at its beginning.

        Raises:
            ConfigError: One of the layers does not exist, or the end comes before the start.
        """
        end = last_layer(layer, to, self.depth)
        if layer == end:
            return hidden
        changes: dict[int, Callable[[torch.Tensor], torch.Tensor]] = {layer: lambda _: hidden.clone()}
        if end < self.depth:
            changes[end] = _stop
        with self._left_alone(layer), self._hooked(changes):
            try:
                return _last_hidden_state(self._base, self._inputs(batch, language))
            except _ReachedError as reached:
                return reached.hidden

    def logits(self, hidden: torch.Tensor, language: str | None = None) -> torch.Tensor:
        """Logits over the vocabulary (… x V) for hidden states of the last layer (… x D).

        The model's own head computes them: for one call, the base model returns the given states.

        Raises:
            ConfigError: The model has no head.
        """
        base = self._base
        if not self.has_head:
            raise no_head(_why_no_head(self.model.config))
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
        """Apply a change to the output of a layer (0: the embeddings) while the block lasts.

        It applies to anything that runs the model, such as another head; only the model's own pooler does not see edits
        of the last layer.

        Raises:
            ConfigError: The layer does not exist.
        """
        check_layer(layer, self.depth)
        ids: list[torch.Tensor] = []

        def take_ids(_: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
            found = given[0] if given else named.get("input_ids")
            if not isinstance(found, torch.Tensor):
                problem = "an edited encoder was called without ids"
                raise ConfigError(problem, "pass ids, not embeddings", "not-supported")
            ids[:] = [found]

        def apply(hidden: torch.Tensor) -> torch.Tensor:
            return hidden if layer <= self._unedited else changed(change, hidden, ids[0])

        with ExitStack() as hooks:
            hooks.callback(self._base.register_forward_pre_hook(take_ids, with_kwargs=True).remove)
            hooks.enter_context(self._hooked({layer: apply}))
            self._edits += 1
            try:
                yield
            finally:
                self._edits -= 1

    @contextmanager
    def _left_alone(self, layer: int) -> Iterator[None]:
        """Suspend edits up to a layer while the block lasts."""
        before, self._unedited = self._unedited, layer
        try:
            yield
        finally:
            self._unedited = before

    @property
    def _base(self) -> Any:  # noqa: ANN401 - transformers' class
        return self.model.base_model

    def _inputs(self, batch: Batch, language: str | None) -> dict[str, torch.Tensor]:
        """Inputs of the model: ids and attention mask, and languages and segments if it has embeddings of them."""
        inputs = {"input_ids": batch.ids_BT, "attention_mask": batch.mask_BT.long()}
        if self._languages:
            code = None if language is None else language_code(language)
            self.check_language(code)
            inputs["langs"] = torch.full_like(batch.ids_BT, self._languages[code or ""])
        if self._separator is not None:
            pad = self.vocabulary.pad_id
            inputs["token_type_ids"] = in_second_text(batch.ids_BT, self._separator, pad).long()
        return inputs

    # --- capabilities ---

    def check_language(self, code: str | None) -> None:
        """Check that the model has an embedding of a language, if it has language embeddings.

        Raises:
            ConfigError: The model lacks the language, or none is named.
        """
        if self._languages:
            check_name("language", code or "", self._languages)

    def token_table(self, language: str | None = None) -> TokenTable:
        """Return the input embeddings of the model."""
        return TokenTable(self.model.get_input_embeddings().weight.detach(), np.arange(len(self.vocabulary)))

    def untrained(self, seed: int) -> HookedEncoder:
        """Return a model of the same config with the random weights its class gives it."""
        with torch.random.fork_rng(devices=[]):  # the global generator continues as if nothing had been drawn
            torch.manual_seed(seed)
            model = type(self.model)(deepcopy(self.model.config))
        model.to(device=self.device, dtype=self.model.dtype).eval()
        return HookedEncoder(model, self._vocabulary).eval()

    def is_body(self, name: str) -> bool:
        """Whether a parameter belongs to the base model, and not to a head beside it."""
        inner = next((path for path, part in self.named_modules() if part is self._base), "")
        return name.startswith(f"{inner}.")

    @contextmanager
    def _hooked(self, changes: Mapping[int, Callable[[torch.Tensor], torch.Tensor]]) -> Iterator[None]:
        """Apply functions to what passes at the places of some layers while the block lasts."""
        with ExitStack() as hooks:
            places = [*self._places, _Place(self._base, 0, after=True)]
            for layer, change in changes.items():
                hooks.enter_context(_at(self._base, places[layer], change))
            yield

    @torch.no_grad()
    def _find_places(self) -> None:
        """Run a few tokens and find where each hidden state can be read and replaced.

        Raises:
            ConfigError: The model cannot be run, or a state cannot be replaced.
        """
        name = self.model.config.model_type
        ids = [index for index in range(self.size) if index != getattr(self.model.config, "pad_token_id", None)]
        ids_BT, other_BT = (torch.tensor([part], device=self.device) for part in (ids[-4:], ids[-8:-4] or ids[:4]))
        inputs, other = (self._probe(some_BT) for some_BT in (ids_BT, other_BT))
        seen: list[tuple[_Place, torch.Tensor]] = []
        try:
            with _watched(self._base, seen):
                states = _hidden_states(self._base, inputs)
        except Exception as error:  # an arbitrary model may raise anything
            problem = f"{name} cannot be run as an encoder ({one_line(str(error))[:120]})"
            raise ConfigError(problem, _REMEDY, "not-supported") from error
        self.hidden_size = states[0].shape[-1]
        choices = [
            [place for place, tensor in seen if tensor.shape == state.shape and torch.equal(tensor, state)]
            for state in states[:-1]
        ]
        # First the outermost module that receives the state, then the last one that returns it.
        choices = [
            [one for one in some if not one.after] + [one for one in reversed(some) if one.after] for some in choices
        ]
        chosen = [0] * len(choices)
        while all(at < min(len(some), _TRIED) for at, some in zip(chosen, choices, strict=True)):
            self._places = [some[at] for at, some in zip(chosen, choices, strict=True)]
            wrong = self._misplaced(states, other)
            if not wrong:
                return
            for layer in wrong:
                chosen[layer] += 1
        layer = next(n for n, at in enumerate(chosen) if at >= min(len(choices[n]), _TRIED))
        problem = f"the output of layer {layer} of {name} cannot be read and replaced"
        raise ConfigError(problem, _REMEDY, "not-supported")

    def _probe(self, ids_BT: torch.Tensor) -> dict[str, torch.Tensor]:
        inputs = {"input_ids": ids_BT, "attention_mask": torch.ones_like(ids_BT)}
        if self._languages:
            inputs["langs"] = torch.full_like(ids_BT, next(iter(self._languages.values())))
        return inputs

    def _misplaced(self, states: Sequence[torch.Tensor], other: dict[str, torch.Tensor]) -> list[int]:
        """Layers after which the model does not continue from a replaced state, in one batch for all layers.

        Row ``k`` is another sentence, with the given one's state put in after layer ``k``.
        """
        depth = len(self._places)
        scale = float(max(state.abs().max() for state in states))
        wrong: set[int] = set()

        def check(layer: int, hidden_BTD: torch.Tensor) -> None:
            misses_B = (hidden_BTD[:layer] - states[layer]).abs().amax(dim=(1, 2)) > 1e-3 * scale
            wrong.update(misses_B.nonzero().flatten().tolist())

        def put(layer: int, hidden_BTD: torch.Tensor) -> torch.Tensor:
            check(layer, hidden_BTD)
            hidden_BTD = hidden_BTD.clone()
            hidden_BTD[layer] = states[layer][0]
            return hidden_BTD

        rows = {name: tensor.repeat(depth, 1) for name, tensor in other.items()}
        with self._hooked({layer: partial(put, layer) for layer in range(depth)}):
            check(depth, _last_hidden_state(self._base, rows))
        return sorted(wrong)


def _separator(config: Any, vocabulary: Vocabulary | None) -> int | None:  # noqa: ANN401 - transformers' class
    """The token that ends the first of two texts, if the model has segment embeddings; else None."""
    if vocabulary is None or (getattr(config, "type_vocab_size", 0) or 0) < 2:
        return None
    return vocabulary.segment_separator


class _ReachedError(Exception):
    """Raised to stop a forward pass, with the hidden states reached."""

    def __init__(self, hidden: torch.Tensor) -> None:
        super().__init__()
        self.hidden = hidden


def _stop(hidden: torch.Tensor) -> torch.Tensor:
    raise _ReachedError(hidden)


@contextmanager
def _at(base: nn.Module, place: _Place, change: Callable[[torch.Tensor], torch.Tensor]) -> Iterator[None]:
    """Apply a function to the tensor that passes at a place while the block lasts."""
    calls = 0

    def begin(*_: object) -> None:
        nonlocal calls
        calls = 0

    def here() -> bool:
        nonlocal calls
        calls += 1
        return calls - 1 == place.call

    def before(
        _: nn.Module, given: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        if not here():
            return None
        if given and isinstance(given[0], torch.Tensor):
            return (change(given[0]), *given[1:]), named
        return given, {**named, "hidden_states": change(named["hidden_states"])}

    def after(_: nn.Module, __: tuple[Any, ...], output: Any) -> Any:  # noqa: ANN401 - a tensor, a tuple or transformers' class
        if not here():
            return None
        if isinstance(output, tuple):
            return (change(output[0]), *output[1:])
        if isinstance(output, torch.Tensor):
            return change(output)
        output["last_hidden_state"] = change(output["last_hidden_state"])
        return output

    with ExitStack() as hooks:
        hooks.callback(base.register_forward_pre_hook(begin).remove)
        if place.after:
            hooks.callback(place.module.register_forward_hook(after).remove)
        else:
            hooks.callback(place.module.register_forward_pre_hook(before, with_kwargs=True).remove)
        yield


@contextmanager
def _watched(base: nn.Module, seen: list[tuple[_Place, torch.Tensor]]) -> Iterator[None]:
    """Record the input and output of every module while the block lasts, in order."""
    calls: Counter[tuple[nn.Module, bool]] = Counter()

    def note(module: nn.Module, tensor: object, *, after: bool) -> None:
        call = calls[module, after]
        calls[module, after] += 1
        if isinstance(tensor, torch.Tensor):
            seen.append((_Place(module, call, after), tensor.detach().clone()))

    def before(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        note(module, given[0] if given else named.get("hidden_states"), after=False)

    def after(module: nn.Module, _: tuple[Any, ...], output: Any) -> None:  # noqa: ANN401 - whatever it gives
        note(module, output[0] if isinstance(output, tuple) and output else output, after=True)

    with ExitStack() as hooks:
        for part in base.modules():
            if part is not base:
                hooks.callback(part.register_forward_pre_hook(before, with_kwargs=True).remove)
                hooks.callback(part.register_forward_hook(after).remove)
        yield


def _hidden_states(base: Any, inputs: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:  # noqa: ANN401
    """Hidden states of every layer; the last after the model's final norm, if it has one."""
    output = base(**inputs, output_hidden_states=True, return_dict=True)
    return (*output.hidden_states[:-1], output.last_hidden_state)


def _last_hidden_state(base: Any, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:  # noqa: ANN401
    last: torch.Tensor = base(**inputs, return_dict=True).last_hidden_state
    return last


def _language_ids(config: Any) -> dict[str, int]:  # noqa: ANN401 - transformers' class
    """Language ids of an XLM with language embeddings; empty for any other model."""
    if not getattr(config, "use_lang_emb", False) or getattr(config, "n_langs", 1) < 2:
        return {}
    return {language_code(name): int(number) for name, number in (getattr(config, "lang2id", None) or {}).items()}


def _why_no_head(config: Any) -> str:  # noqa: ANN401 - transformers' class
    """Why a model was loaded without a masked language modeling head."""
    transformers = import_part("transformers")
    if type(config) in transformers.MODEL_FOR_MASKED_LM_MAPPING:
        return "its weights came without one"
    if type(config) in transformers.MODEL_FOR_CAUSAL_LM_MAPPING:
        return f"{config.model_type} predicts the next token, not the one at a position"
    return f"transformers has no {config.model_type} for masked language modeling"
