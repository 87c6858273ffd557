"""nbconvert's settings for the course: cells are Go, and formulas become MathML, which browsers show without a script."""

import re

from latex2mathml.converter import convert
from nbconvert.preprocessors import Preprocessor

FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(.+?)\$", re.DOTALL)
CODE = re.compile(r"(```.*?```|`[^`]*`)", re.DOTALL)
# What latex2mathml 3.81 copies to the page as it stands.
UNKNOWN = {r"\arg\min": r"\operatorname{arg\,min}", r"\arg\max": r"\operatorname{arg\,max}"}
SIZES = re.compile(r"\\(?:big|Big|bigg|Bigg)[lrm]?(?![a-z])")


def mathml(tex, display):
    """The formula as MathML that Markdown leaves alone: its text has no character that Markdown knows."""
    for command, other in UNKNOWN.items():
        tex = tex.replace(command, other)
    formula = convert(SIZES.sub("", tex), display="block" if display else "inline")
    if "\\" in formula:
        raise ValueError(f"this formula cannot be shown: {tex}\n{formula}")
    return re.sub(r"(?<=>)[^<>]+(?=<)", lambda m: re.sub(r"[*_~`|\[\]]", lambda c: f"&#{ord(c[0])};", m[0]), formula)


def replaced(match):
    block, inline = match.groups()
    return mathml(block, True) if block else mathml(inline, False)


class Formulas(Preprocessor):
    """Replaces the formulas of Markdown cells."""

    def preprocess_cell(self, cell, resources, index):
        if cell.cell_type == "markdown":
            parts = CODE.split(cell.source)  # code at odd places
            cell.source = "".join(p if i % 2 else FORMULA.sub(replaced, p) for i, p in enumerate(parts))
        return cell, resources


c = get_config()  # noqa: F821: nbconvert provides it
c.HTMLExporter.preprocessors = [Formulas]
c.HTMLExporter.exclude_anchor_links = True
c.NbConvertBase.default_language = "go"  # of the highlighter: GoNB's notebooks name none
