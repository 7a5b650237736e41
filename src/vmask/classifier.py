"""TextClassifier: the scikit-learn-shaped front door."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from vmask._core.progress import shown
from vmask.config import Duplicates, EstimatorConfig, make
from vmask.errors import ConfigError, did_you_mean
from vmask.explain.api import explain_texts
from vmask.explain.contract import Explanation
from vmask.inference.abstention import check_abstains, threshold_of, without_unsure
from vmask.inference.decisions import label_tuples, predictions
from vmask.inference.edits import Edit, resolve, warn_of
from vmask.inference.predictor import TextPredictor
from vmask.inference.probability_config import ProbabilityConfig
from vmask.inference.text_profile import DEV_PROFILE, dev_profile
from vmask.inference.word_importance import WordImportance
from vmask.pretrained.encoders import download
from vmask.training.calibrate import BEFORE_EDIT, calibrate
from vmask.training.estimator_options import DEFAULTS, describe, signature
from vmask.training.fit import prepare_data, train_plan, words_edit
from vmask.training.inputs import are_right, check_texts, scored_data, training_data
from vmask.training.progress import CallbackList, ProgressCallback, TrainingBar
from vmask.training.run_config import Plan, make_plan
from vmask.training.trained_model import TrainedModel

NESTED = ("mask__", "model__")


class TextClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A text classifier that shows which words it uses.

    Every argument is kept as it is given and checked in `fit`. None means the default of the method. Options of the
    mask and the model are nested: `mask__pi=0.3`, `model__filters=200`.

    Args:
        model: `cnn` or `lstm`, see `vmask ls models`; or an encoder: a folder, a hub name, or `minilm`.
        mask: the training method, see `vmask ls masks`.
        **options: see `vmask.config`; OPTIONS

    Attributes:
        classes_: the labels, as they were given.
        history_: a row for every epoch.
        best_epoch_: the epoch whose weights were kept.
        about_: facts that the model card tells, such as the name of the dataset; free to set before `save`.
        predictor_: the trained model with its words.

    Example:
        >>> texts = ["a fine film", "a dull film", "fine acting", "dull acting"] * 8
        >>> classifier = TextClassifier(embeddings="random", learning_rate=0.02, model__filters=20)
        >>> classifier.fit(texts, ["good", "bad"] * 16).predict(["a fine actor", "a dull film"]).tolist()
        ['good', 'bad']
    """

    dev_fraction: float
    duplicates: Duplicates
    device: str
    verbose: bool

    def __init__(self, model: str = "cnn", mask: str = "vmask", **options: Any) -> None:
        for key in options:
            if key not in DEFAULTS and not key.startswith(NESTED):
                raise TypeError(
                    f"TextClassifier has no argument {key!r}.{did_you_mean(key, self._get_param_names())} "
                    "Options of the mask and the model are written mask__… and model__…."
                )
        for name, value in {**DEFAULTS, **options, "model": model, "mask": mask}.items():
            setattr(self, name, value)
        self._nested = tuple(key for key in options if key.startswith(NESTED))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All arguments with their values, nested options included."""
        return {name: getattr(self, name) for name in (*self._get_param_names(), *self._nested)}

    def set_params(self, **params: Any) -> TextClassifier:
        """Set arguments by name, nested options included."""
        for name, value in params.items():
            if name.startswith(NESTED):
                self._nested = tuple(dict.fromkeys((*self._nested, name)))
            elif name not in self._get_param_names():
                raise ValueError(
                    f"TextClassifier has no argument {name!r}.{did_you_mean(name, self._get_param_names())}"
                )
            setattr(self, name, value)
        return self

    def fit(
        self,
        X: Any,
        y: Sequence[Any] | None = None,
        sample_weight: Sequence[float] | None = None,
        *,
        text: str | None = None,
        label: str | None = None,
        dev: Any = None,
        labels: Sequence[Any] | None = None,
        vocabulary_texts: Iterable[str] | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: ProgressCallback | None = None,
        callbacks: Sequence[ProgressCallback] = (),
    ) -> TextClassifier:
        """Train on texts and their labels.

        Args:
            X: texts; or a table (pandas, polars, pyarrow, `datasets`, a mapping of columns) with a column of texts.
            y: labels, strings or numbers; None if they are a column of the table. Rows of the table without a text or a
                label are then left out, with a warning. Where a text may have several, or none: a list or set of them
                for each text, or a matrix (N, C) of 0 and 1, such as of scikit-learn's `MultiLabelBinarizer`.
            sample_weight: (N,) weight of each text, 0 or more. The loss of a batch is the mean of its texts by weight,
                so twice the weight counts as the text twice. Only the loss is weighted: not the penalty of a mask, the
                counts of words or dev scores.
            text: the column of the table with the texts; by default guessed as for files.
            label: the column of the table with the labels; guessed by default.
            dev: texts and labels, or a table with the same columns, that pick the best epoch; by default `dev_fraction`
                of X is held out, stratified, a text and its copies (see `duplicates`) together. The same rows in
                another order give the same dev set; the weights differ a little, as batches do.
            labels: names of the columns of such a matrix; by default those of a data frame, else their numbers.
            vocabulary_texts: further texts whose words are counted with `vocabulary="paper"`.
            checkpoint: folder for a checkpoint after every epoch.
            resume: continue from the checkpoint where there is one.
            progress: what to show; by default a bar with `verbose`.
            callbacks: called in the course of the training too, such as trackers, see `vmask.trackers`.
        """
        from vmask.persistence.start_from import start_from

        plan, probability = self.plan(), ProbabilityConfig.of(self.get_params())
        X, y, dev, columns = training_data(X, y, dev, text, label)
        how = (self.duplicates, sample_weight, labels)
        data = prepare_data(plan, X, y, dev, self.dev_fraction, vocabulary_texts, *how)
        plan = plan.for_task(data.task)
        check_abstains(data.task, probability.abstain_accuracy)
        shown = progress or (TrainingBar(plan.title) if self.verbose else None)
        predictor, trained = train_plan(
            plan,
            data,
            self.device,
            None if checkpoint is None else Path(checkpoint),
            resume,
            CallbackList([*([] if shown is None else [shown]), *callbacks]),
            start_from(plan, data),
        )
        self.predictor_, facts = calibrate(predictor, plan, probability, data.labelled)
        self.history_, self.best_epoch_ = trained.history, trained.best_epoch
        self.plan_, self.data_ = plan, data.summary()
        self.about_: dict[str, Any] = {**columns, **facts}
        if (edit := words_edit(plan)) is not None:
            edited = resolve(self.predictor_, edit)
            warn_of(edited)
            self.about_["edits"] = edited.record()
        self.about_ |= dev_profile(self.predictor_, data.labelled.dev_texts)
        self.classes_ = np.array(data.labels)
        return self

    def plan(self) -> Plan:
        """The options with the method's defaults filled in, checked.

        Raises:
            ConfigError: for an option that cannot work.
        """
        if not isinstance(self.dev_fraction, (int, float)) or not 0 < self.dev_fraction < 1:
            raise ConfigError(f"dev_fraction is {self.dev_fraction!r}; it must be a number between 0 and 1.")
        make(EstimatorConfig, {"duplicates": self.duplicates})
        return make_plan(**self.get_params())

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """(N, C) probabilities, columns in the order of `classes_`; with several labels a text each stands alone.

        Args:
            X: texts, or a table with the column of texts that the model was trained on, else an obvious one. A missing
                text of a table or column is an empty one.
        """
        predictor = self._predictor()
        return predictor.predict_texts(check_texts(X, self.about_.get("text")))

    def predict(self, X: Any, abstain: float | None = None) -> Any:
        """(N,) labels, of the kind that `fit` was given.

        Where a text may have several, a list with a tuple for each text: the labels whose probability reaches their
        threshold, in the order of `classes_`, which may be none. `MultiLabelBinarizer` makes a matrix of it.

        Args:
            X: texts, or a table as in `predict_proba`.
            abstain: probability of the predicted class below which there is no answer: None stands in its place, in an
                array of objects. `threshold_for` gives one. By default every text is answered.
        """
        predictor, probabilities = self._predictor(), self.predict_proba(X)
        found = predictions(predictor, probabilities)
        check_abstains(predictor.task, abstain)
        if found.ndim == 2:
            return label_tuples(found, self.classes_.tolist())
        return without_unsure(self.classes_[found], probabilities, abstain)

    def threshold_for(self, accuracy: float) -> float:
        """The lowest probability from which on predictions are right at least this often, with a confidence of 95%.

        It is found by the answers to the dev texts of the training, see `vmask.inference.abstention`.

        Raises:
            ConfigError: if there are no such answers, or they show it for no threshold.
        """
        return threshold_of(self._predictor().dev_answers, accuracy)

    @property
    def thresholds_(self) -> NDArray[np.float64] | None:
        """(C,) the probability from which each label is predicted, where a text may have several; else None."""
        return self._predictor().thresholds

    def score(self, X: Any, y: Sequence[Any] | None = None, sample_weight: Sequence[float] | None = None) -> float:
        """Share of texts whose label is right, or all of whose labels are; also of labels such as 3.5.

        Args:
            X: texts; or a table, whose rows without a text or a label are left out if it has the labels.
            y: labels; None if they are a column of the table.
            sample_weight: weights of the texts.
        """
        check_is_fitted(self, "predictor_")
        X, y = scored_data(X, y, self.about_)
        return float(np.average(are_right(self.predict(X), y, self.classes_.tolist()), weights=sample_weight))

    def explain(
        self,
        texts: Any,
        method: str = "mask",
        *,
        target: Any = None,
        seed: int = 0,
        hide: str | None = None,
        batch_size: int | None = None,
        workers: int = 1,
        **options: Any,
    ) -> list[Explanation]:
        """Which words of the texts matter. One text may be given as it is.

        Args:
            texts: a list of them, or one; or a table as in `predict_proba`.
            method: `mask`, `lime`, `shapley`, `occlusion`, `integrated_gradients`, …, see `vmask ls explainers`.
            target: label to explain, or a list with one for every text; by default the predicted one of each.
            seed: of random methods.
            hide: how words are hidden: `remove` (the default), `zero`, `unk` or `mask`.
            batch_size: perturbed texts that are computed at a time, at most.
            workers: threads that explain texts side by side; the results are the same.
            options: of the method, e.g. `samples=5000` of `lime`.
        """
        check_is_fitted(self, "predictor_")
        listed = [texts] if isinstance(texts, str) else check_texts(texts, self.about_.get("text"))
        if hasattr(target, "__len__") and not isinstance(target, str) and len(target) != len(listed):
            raise ConfigError(f"There are {len(listed)} texts and {len(target)} targets. Give a target for every text.")
        explanations = explain_texts(
            self._predictor(),
            listed,
            method,
            target=target,
            seed=seed,
            hide=hide,
            batch_size=batch_size,
            workers=workers,
            **options,
        )
        return list(shown(explanations, len(listed), method) if self.verbose else explanations)

    def word_importance(self, top: int | None = None, min_count: int = 1) -> list[WordImportance]:
        """Words by global importance `E[R]`, highest first, of those seen at least `min_count` times in training."""
        return self._predictor().word_importance(min_count)[:top]

    def edit(
        self,
        hide: Sequence[str] = (),
        show: Sequence[str] = (),
        *,
        only: Sequence[str] | None = None,
        hide_patterns: Sequence[str] = (),
        show_patterns: Sequence[str] = (),
    ) -> TextClassifier:
        """A copy in which words are hidden from the model, or shown to it, whatever its mask has learnt.

        Words are found in any case; of an encoder all pieces of a word are edited. Nothing is trained: see
        `hide_words` and `only_words` for a model that learns without some words. What was decided is in
        `about_["edits"]` of the copy, and holds for later edits too, unless they decide otherwise.

        Args:
            hide: words that the model must not see.
            show: words that it sees as they are.
            only: the only words that the model may see, besides those of `show`; None for no such limit.
            hide_patterns: regular expressions; every known word in which one is found is hidden.
            show_patterns: the same for words that are shown.

        Raises:
            ConfigError: if no word is known, or a word is to be hidden and shown.
        """
        for given in (hide, show, only, hide_patterns, show_patterns):
            if isinstance(given, str):
                raise ConfigError(f"{given!r} is one string, which would be taken for a list of letters. Give a list.")
        predictor = self._predictor()
        limit = None if only is None else tuple(only)
        if limit == ():
            raise ConfigError("only is empty, so the model could see nothing. Name words, or leave it out.")
        edit = Edit(tuple(hide), tuple(show), tuple(hide_patterns), tuple(show_patterns), limit)
        edited = resolve(predictor, edit, self.about_.get("edits"))
        warn_of(edited)
        clone = copy.copy(self)
        clone.predictor_ = predictor.edited(edited.edits)
        of_before = ("edits", "test_accuracy", "test_n", DEV_PROFILE)  # what was measured was another model
        kept = {key: value for key, value in self.about_.items() if key not in of_before}
        clone.about_ = {**kept, "edits": edited.record()}
        if predictor.calibration is not None:
            clone.about_["calibration"] = {**self.about_.get("calibration", {}), "note": BEFORE_EDIT}
        if predictor.abstain_below is not None:
            clone.about_["abstention"] = {**self.about_.get("abstention", {}), "note": BEFORE_EDIT}
        return clone

    def save(self, path: str | Path, overwrite: bool = False) -> Path:
        """Write a model folder: `config.json`, `model.safetensors`, `tokenizer.json`, `README.md`."""
        from vmask.persistence.model_folder import save_model

        return save_model(self._trained(), Path(path), overwrite)

    @classmethod
    def load(cls, path: str | Path, device: str = "auto") -> TextClassifier:
        """Read a model folder."""
        from vmask.persistence.model_folder import damaged, load_model

        trained = load_model(Path(path), device)
        try:
            classifier = cls(**trained.params)
        except (ConfigError, TypeError) as error:  # of a folder from somewhere else
            raise damaged(Path(path), error) from None
        classifier.plan_, classifier.data_, classifier.about_ = trained.plan, trained.data, trained.about
        classifier.history_, classifier.best_epoch_ = trained.history, trained.best_epoch
        classifier.classes_ = np.array(trained.labels)
        classifier.predictor_ = trained.predictor
        return classifier

    def save_pretrained(self, path: str | Path, overwrite: bool = True) -> Path:
        """As `save`; as with transformers, a model that is there is replaced."""
        return self.save(path, overwrite)

    @classmethod
    def from_pretrained(cls, path: str | Path, device: str = "auto") -> TextClassifier:
        """Read a model folder, from the disk or by its name on the Hugging Face hub."""
        from vmask.persistence.model_folder import CARD, CONFIG, NAMES

        files = [name for names in NAMES.values() for name in names]
        return cls.load(download(str(path), (CONFIG, CARD, *files)), device)

    def export(self, path: str | Path, format: Literal["hf", "onnx"] | None = None, overwrite: bool = False) -> Any:
        """Write the model for programs without vmask: a Hugging Face folder (encoders) or ONNX.

        Returns:
            A `vmask.export.ExportResult`: the files, whether the mask is folded in, the greatest difference found.
        """
        from vmask.export import export_model

        return export_model(self._trained(), path, format, overwrite)

    def _trained(self) -> TrainedModel:
        predictor = self._predictor()  # says so where it is not fitted
        return TrainedModel(
            params=self.get_params(),
            plan=self.plan_,
            predictor=predictor,
            labels=self.classes_.tolist(),
            data=self.data_,
            history=self.history_,
            best_epoch=self.best_epoch_,
            about=self.about_,
        )

    def _predictor(self) -> TextPredictor:
        check_is_fitted(self, "predictor_")
        predictor: TextPredictor = self.predictor_
        return predictor

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that the input is text."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Names of the arguments that are not nested, in the order of the signature."""
        return list(DEFAULTS)


TextClassifier.__init__.__signature__ = signature()  # type: ignore[attr-defined]
TextClassifier.__doc__ = (TextClassifier.__doc__ or "").replace(
    "**options: see `vmask.config`; OPTIONS", f"{describe()}\n        **options: of the mask and the model."
)
