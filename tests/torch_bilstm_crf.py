"""BiLSTM-CRF in torch, its emissions only: what the runtime's is compared with. Saves the files that the runtime reads."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from safetensors.torch import save_file


class BilstmCrfConfig(SimpleNamespace):
    """The keys of config.json."""


class BilstmCrfForTokenClassification(torch.nn.Module):
    """Called as a model of transformers is."""

    def __init__(self, config: BilstmCrfConfig) -> None:
        super().__init__()
        labels = len(config.id2label)
        self.config = config
        self.embedding = torch.nn.Embedding(config.vocab_size, config.embedding_dim)
        self.lstm = torch.nn.LSTM(
            config.embedding_dim, config.hidden_size, config.num_layers, bidirectional=True, batch_first=True
        )
        self.classifier = torch.nn.Linear(2 * config.hidden_size, labels)
        self.crf = torch.nn.Module()
        for name, shape in (("start_transitions", [labels]), ("transitions", [labels, labels]), ("end_transitions", [labels])):
            self.crf.register_parameter(name, torch.nn.Parameter(torch.zeros(shape)))

    def forward(self, ids: Any) -> Any:
        return SimpleNamespace(logits=self.classifier(self.lstm(self.embedding(ids))[0]))

    def packed(self, sequences: list[Any]) -> list[Any]:
        """float32 emissions of sequences of any lengths, computed together."""
        from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence

        with torch.no_grad():
            embedded = [self.embedding(torch.tensor(ids.astype("int64"))) for ids in sequences]
            states, lengths = pad_packed_sequence(self.lstm(pack_sequence(embedded, enforce_sorted=False))[0], batch_first=True)
            return [self.classifier(row[:length]).numpy() for row, length in zip(states, lengths, strict=True)]

    def save_pretrained(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        config = {"model_type": "bilstm-crf", **vars(self.config)}
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")
        save_file({name: tensor.contiguous() for name, tensor in self.state_dict().items()}, folder / "model.safetensors")
