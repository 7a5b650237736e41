"""The README.md of a model folder: options, scores, top words, and how to load the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vmask.training.calibrate import how_calibrated

if TYPE_CHECKING:
    from vmask.training.trained_model import TrainedModel

TOP_WORDS = 20
TOP_MIN_COUNT = 3


def _input_line(data: dict[str, Any]) -> str:
    """The row of the table about word vectors or the encoder."""
    if "encoder" not in data:
        return f"| word vectors | {', '.join(data['vectors'])}, {data['dim']} dimensions, {data['vocabulary']} words |"
    limit = f"texts up to {data['max_tokens']} tokens ({data['cut']} training texts were longer)"
    return f"| encoder | {data['encoder']}, {data['vocabulary']} word pieces, {limit} |"


def _edit_lines(edits: Any) -> list[str]:
    """Rows of the table about words that a person hid or showed, or that alone are read."""
    if not isinstance(edits, dict):
        return []
    rows = []
    for name, title in (("only", "reads only"), ("hidden", "hidden by hand"), ("shown", "shown by hand")):
        if words := edits.get(name):
            more = " …" if len(words) > TOP_WORDS else ""
            rows.append(f"| {title} | {len(words):,} words: {', '.join(map(str, words[:TOP_WORDS]))}{more} |")
    cost = edits.get("cost")
    if isinstance(cost, dict) and {"accuracy_before", "accuracy_after", "n"} <= cost.keys():
        before, after = cost["accuracy_before"], cost["accuracy_after"]
        of = f" of {cost['data']}" if cost.get("data") else ""
        rows.append(f"| cost of this | accuracy {before:.4f} before, {after:.4f} after ({cost['n']} texts{of}) |")
    return rows


def _several_lines(trained: TrainedModel, best: dict[str, Any]) -> list[str]:
    """Rows of the table about labels of which a text may have several."""
    thresholds = trained.predictor.thresholds
    if thresholds is None:
        return []
    pairs = zip(trained.labels, thresholds.tolist(), strict=True)
    rows = [
        "| labels a text | any number; each is predicted from a threshold of its own, chosen on dev |",
        f"| thresholds | {', '.join(f'{label} {threshold:.3f}' for label, threshold in pairs)} |",
        f"| dev micro F1 | {best['dev_micro_f1']:.4f} |",
    ]
    if "test_micro_f1" in trained.about:
        about = trained.about
        rows.append(f"| test F1 | micro {about['test_micro_f1']:.4f}, macro {about['test_macro_f1']:.4f} |")
    return rows


def model_card(trained: TrainedModel) -> str:
    """The card as Markdown."""
    plan, data = trained.plan, trained.data
    about = trained.about
    best = trained.history[trained.best_epoch - 1]
    lines = [
        f"# {plan.title}",
        "",
        f"A text classifier trained with vmask: model `{plan.model}`, word mask `{plan.mask}`.",
        "",
        "| | |",
        "|---|---|",
        f"| labels | {', '.join(str(label) for label in trained.labels)} |",
        f"| data | {about.get('dataset', 'given in Python')}: {data['train']} training and {data['dev']} dev texts |",
        _input_line(data),
        f"| best epoch | {trained.best_epoch} of {len(trained.history)}, by dev {plan.train.select} |",
        f"| dev accuracy | {best['dev_accuracy']:.4f} |",
    ]
    if plan.train.stages == 2:
        lines.append("| stages | trained without a mask first, then with it and with frozen word vectors |")
    lines += _several_lines(trained, best)
    if "test_accuracy" in about:
        lines.append(f"| test accuracy | {about['test_accuracy']:.4f} ({about['test_n']} texts) |")
    if how := how_calibrated(about.get("calibration")):
        lines.append(f"| probabilities | {how.partition('probabilities ')[2]} |")
    lines += [f"| seed | {plan.train.seed} |", *_edit_lines(about.get("edits")), ""]
    if trained.predictor.ranks_words:
        words = trained.predictor.word_importance(TOP_MIN_COUNT)[:TOP_WORDS]
        lines += [
            f"Words it sees most of, of those seen {TOP_MIN_COUNT} times or more: "
            + ", ".join(f"{w.word} ({w.score:.2f})" for w in words)
            + ".",
            "",
        ]
    lines += [
        "```python",
        "from vmask import TextClassifier",
        "",
        'classifier = TextClassifier.load("path/to/this/folder")',
        'classifier.predict(["a text"])',
        "```",
        "",
    ]
    return "\n".join(lines)
