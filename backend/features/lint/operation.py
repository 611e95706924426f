"""`lint`: faults of captions that no model is needed for."""

from typing import TYPE_CHECKING, Annotated

from backend.operations.operation import Operation
from backend.options import Options, switch
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.features.lint.linting import LintReport
    from backend.operations.context import Context


class LintOptions(Options):
    """Find faults of captions without a model: loops, refusals and error messages of a captioner,
    reasoning or an answer to a question in place of a caption, cut endings, placeholders, broken or
    invisible characters, JSON, HTML, Markdown, coordinates, settings of image generators, weights
    of a prompt, subtitles, credits, hashtags, words of a camera, a web page or a prompt, one
    caption on many pictures, one picture under many names, a picture in several splits, lost
    commas, and what is unlike the rest in length or language.

    Each fault becomes a tag, `lint: NAME`, by which the queue, exports and edits find its pairs;
    tags of an earlier run are replaced. `edit --mend NAME` repairs what can be repaired without
    looking, with --dry-run for a preview and --undo.
    """

    tag: Annotated[bool, switch("tag")] = True
    """Tag the pairs."""


def run(
    context: "Context", dataset_id: int, options: LintOptions, progress: Progress
) -> "LintReport":
    from backend.features.lint import linting

    return linting.lint(
        context.store, dataset_id, context.settings.author if options.tag else None, progress
    )


LINT = Operation(
    "lint",
    "Looking for faults",
    LintOptions,
    run,
    uses=("tags of {dataset}",),
    is_command=True,
    activity="Looking for faults in",
    after_import=LintOptions(tag=False),  # an import only says what there is
)
